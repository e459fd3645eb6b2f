"""torch.compile of the program's own function and module."""

# needs: torch
# full: compiling takes seconds
import torch


def learn(x):
    return (x * 2).relu().sum()


torch.manual_seed(0)
net = torch.nn.Linear(3, 2)
print(
    torch.compile(learn, backend="eager")(torch.ones(3)),
    torch.compile(net, backend="eager", fullgraph=True)(torch.ones(3)),
)
print(torch._dynamo.explain(learn)(torch.ones(3)).graph_break_count)
