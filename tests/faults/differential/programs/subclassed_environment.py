"""super().step, abstract methods, and isinstance through wrappers."""

import abc
import inspect


class Base(abc.ABC):
    @abc.abstractmethod
    def step(self, action): ...
    def reset(self):
        return 0


class Env(Base):
    def step(self, action):
        return action, 1.0, False, {}


class Wrapped(Env):
    def __init__(self, env):
        self.env = env

    def step(self, action):
        state, reward, done, info = super().step(action)
        return self.env.step(state + 1)


env = Wrapped(Env())
env.reset()
print(
    [env.step(number)[0] for number in range(5)],
    inspect.isabstract(Base),
    inspect.isabstract(Env),
    Base.__abstractmethods__,
)
try:
    Base()
except TypeError as error:
    print(type(error).__name__)
