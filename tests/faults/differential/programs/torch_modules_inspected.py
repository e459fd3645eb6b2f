"""Modules of the program and of torch are what inspect finds."""

# shares: torch
import inspect
import pickle
import weakref

import torch


class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, state, noise=0.0):
        return self.layer(state) + noise

    def act(self, state):
        return self(state).argmax(-1)


torch.manual_seed(1)
policy = Policy()
for _ in range(20):
    policy.act(torch.ones(1, 2))
print(
    inspect.signature(policy.forward),
    inspect.signature(Policy.act),
    inspect.getfullargspec(torch.nn.Module.__call__),
    "forward" in vars(policy),
    sorted(vars(policy))[:3],
)
print(
    torch.nn.Module.__call__.__qualname__,
    inspect.isfunction(torch.optim.Optimizer.zero_grad),
    inspect.signature(torch.optim.Adam.step),
    inspect.isfunction(torch.Tensor.backward),
    torch.Tensor.backward.__name__,
)
print(
    weakref.WeakMethod(policy.act)() == policy.act,
    len(pickle.dumps(policy.state_dict())) > 0,
    repr(policy),
    torch.Tensor.item.__name__,
    type(torch.Tensor.item).__name__,
    type(torch.Tensor.to).__name__,
)
