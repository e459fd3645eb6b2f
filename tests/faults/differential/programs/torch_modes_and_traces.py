"""A mode, a tensor subclass and a trace hear what the program asks of tensors, and nothing else."""

# shares: torch
import torch
from torch.overrides import TorchFunctionMode

heard = []


class Listening(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        heard.append(getattr(function, "__qualname__", str(function)))
        return function(*args, **(kwargs or {}))


class Talkative(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        heard.append(getattr(function, "__qualname__", str(function)))
        return super().__torch_function__(function, types, args, kwargs or {})


def listened(name):
    print(name, heard)
    heard.clear()


torch.manual_seed(0)
network = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
optimizer = torch.optim.Adam(network.parameters())
with Listening():
    loss = network(torch.ones(5, 4)).sum()
    listened("forward")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    listened("learned")
    with torch.no_grad():
        loss = network(torch.ones(1, 4))
    listened("acted")
    loss.max().item()
    listened("read")
for _ in range(40):
    network(torch.ones(3, 4).as_subclass(Talkative))
listened("subclass")
traced = torch.jit.trace(network, torch.ones(1, 4))
print(traced.code, traced.graph, traced.inlined_graph)
