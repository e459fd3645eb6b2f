"""A compiled training step: as many frames, graphs and recompilations as without a profiler."""

# needs: torch
# full: compiling takes seconds
import warnings

import torch
import torch._dynamo
from torch._dynamo.utils import counters

warnings.simplefilter("ignore")
torch._logging.set_logs(dynamo=50)
torch.manual_seed(0)
network = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
optimizer = torch.optim.Adam(network.parameters(), 1e-2)


def train(x):
    loss = network(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def act(x):
    return network(x).argmax(-1)


compiled = torch.compile(train, backend="eager")
for rows in (5, 5, 5, 6, 7):
    print(float(compiled(torch.ones(rows, 3))))
    print(torch.compile(act, backend="eager", fullgraph=True)(torch.ones(rows, 3)).shape)
print(dict(counters["frames"]), dict(counters["stats"]), len(counters["graph_break"]))
for each in torch._dynamo.utils.get_compilation_metrics():
    print(each.co_name, each.co_firstlineno)
