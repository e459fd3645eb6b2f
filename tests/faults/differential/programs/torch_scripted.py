"""torch.jit.script, tracing and fx take the program's own functions and modules."""

# shares: torch
import torch


def act(state: torch.Tensor) -> torch.Tensor:
    return state.relu() + 1


class Agent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        return self.layer(state)

    def learn(self, batch: torch.Tensor) -> torch.Tensor:
        return self(batch).mean()


torch.manual_seed(0)
agent = Agent()
print(
    torch.jit.script(act)(torch.ones(2)),
    torch.jit.script(agent)(torch.ones(3)),
    torch.jit.trace(agent, torch.ones(3))(torch.ones(3)),
)
print([node.op for node in torch.fx.symbolic_trace(agent).graph.nodes])
