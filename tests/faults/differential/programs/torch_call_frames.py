"""The frames of a network's call: in a traceback, for a warning, for whoever inspects the stack."""

# shares: torch
import inspect
import traceback
import warnings

import torch


class Inner(torch.nn.Module):
    def forward(self, x):
        print([frame.function for frame in inspect.stack()[:6]])
        warnings.warn("here", stacklevel=2)
        return x / (0 if x.sum() > 2 else 1)


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        if x.sum() > 2:
            raise ValueError("too large")
        return self.inner(x)


network = Outer()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    network(torch.ones(2))
print([(each.filename.rpartition("/")[2], each.lineno) for each in caught])
try:
    network(torch.ones(3))
except ValueError:
    print([frame.name for frame in traceback.extract_tb(__import__("sys").exc_info()[2])])
