"""Classes of libraries have the attributes that they have, and subclasses are made as ever."""

# needs: gymnasium
import abc

import gymnasium
import torch

for cls in (gymnasium.Env, gymnasium.Wrapper, torch.optim.Optimizer, torch.nn.Module):
    print(cls.__name__, sorted(vars(cls)))
    print(cls.__init_subclass__, "__init_subclass__" in vars(cls))
print(object.__init_subclass__, repr(vars(object)["__init_subclass__"]))


class Registered(gymnasium.Env, metaclass=abc.ABCMeta):
    made = []

    def __init_subclass__(cls, tag=None, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.made.append((cls.__name__, tag))

    def step(self, action):
        return 0, 0.0, False, False, {}


class Tagged(Registered, tag="x"):
    def step(self, action):
        return 1, 0.0, False, False, {}


print(Registered.made, Tagged().step(0), sorted(vars(Tagged)))
try:

    class Wrong(gymnasium.Env, tag=1):
        pass

except TypeError as error:
    print(error)
