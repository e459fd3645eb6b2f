"""torch.tensor and its kind keep identity, pickling, copying and their overrides."""

# shares: torch
import copy
import functools
import inspect
import io
import pickle

import torch
from torch.overrides import TorchFunctionMode

for make in (torch.tensor, torch.as_tensor, torch.save, torch.load, torch.from_numpy, torch.stack):
    packed = pickle.dumps(make)
    print(
        packed,
        pickle.loads(packed) is make,
        copy.deepcopy(make) is make,
        make.__name__,
        make.__module__,
        type(make).__name__,
    )
    partial = pickle.loads(pickle.dumps(functools.partial(make, dtype=None)))
    print(partial.func is make, inspect.isbuiltin(make))


class Seen(TorchFunctionMode):
    def __torch_function__(self, function, types, arguments=(), options=None):
        if function is torch.tensor:
            return torch.full((2,), 7.0)
        return function(*arguments, **(options or {}))


with Seen():
    print(torch.tensor([1.0, 2.0]), torch.as_tensor([1.0]))
file = io.BytesIO()
torch.save({"a": torch.ones(2)}, file)
file.seek(0)
print(torch.load(file))
