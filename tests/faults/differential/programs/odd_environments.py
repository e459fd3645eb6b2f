"""Results and attributes of an environment that run code of the program's when they are read."""

# needs: gymnasium
import collections

import gymnasium
import numpy as np


class Reward(float):
    def __float__(self):
        print("float")
        return 1.0

    def __add__(self, other):
        print("add")
        return Reward(2)

    __radd__ = __add__


class Count(int):
    def __int__(self):
        print("int")
        return 1

    __index__ = __float__ = __bool__ = __int__


class Flag:
    def __bool__(self):
        print("bool")
        return False

    def __array__(self, dtype=None, copy=None):
        print("array")
        return np.array(False)


class Info(dict):
    def get(self, *names):
        print("get", names)
        return super().get(*names)

    def __contains__(self, name):
        print("contains", name)
        return super().__contains__(name)


class Action:
    @property
    def shape(self):
        print("shape")
        return ()

    def __getattr__(self, name):
        print("action", name)
        raise KeyError(name)


Result = collections.namedtuple("Result", "observation reward terminated truncated info")
RESULTS = [
    lambda: (0, Reward(1), Flag(), Flag(), Info(episode={"r": 1, "l": 1})),
    lambda: Result(0, Reward(1), Count(0), False, Info()),
    lambda: [0, Count(1), None, None, None],
    lambda: (value for value in (0, 1, True, False, {})),
    lambda: None,
    lambda: (0, "reward", "terminated", [], 5),
    lambda: (
        0,
        float("nan"),
        np.bool_(True),
        np.array([False]),
        {"episode": {"r": "x", "l": None}},
    ),
    lambda: (0, 10**400, True, False, {"_episode": True, "final_info": 3, "episode": [1]}),
]


class Environment(gymnasium.Env):
    __hash__ = None
    result = None

    def __bool__(self):
        raise RuntimeError("bool")

    __len__ = __eq__ = __repr__ = __bool__

    def __getattr__(self, name):
        raise LookupError(name)

    def reset(self, *, seed=None, options=None):
        return 0, Info()

    def step(self, action):
        return self.result()


for name in ("observation_space", "action_space", "unwrapped", "spec", "num_envs", "metadata"):
    setattr(Environment, name, property(lambda self, name=name: print("property", name)))
environment = Environment()
for result in RESULTS:
    Environment.result = staticmethod(result)
    environment.reset()
    for _ in range(40):
        print(type(environment.step(Action())).__name__, end=" ")
    print()
