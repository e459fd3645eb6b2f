"""Static methods, class methods, properties, partial methods, cached and slotted ones."""

import functools


class Env:
    __slots__ = ("at", "__weakref__")

    def __init__(self):
        self.at = 0

    @staticmethod
    def reset():
        return 0

    @classmethod
    def make(cls):
        return cls()

    @functools.lru_cache(maxsize=8)
    def sample(self, action):
        return action * 2

    def step(self, action):
        self.at += action
        return self.at, 0.0, False, {}

    forward = functools.partialmethod(step, 1)

    @property
    def act(self):
        return lambda state: state + 1


env = Env.make()
for number in range(20):
    env.reset()
    env.step(1)
    env.forward()
    env.sample(number % 3)
    env.act(number)
print(
    env.at,
    Env.sample.cache_info(),
    type(vars(Env)["reset"]).__name__,
    type(vars(Env)["make"]).__name__,
    type(vars(Env)["act"]).__name__,
)
print(hasattr(env, "__dict__"), isinstance(vars(Env)["forward"], functools.partialmethod))
