"""An environment whose class answers every attribute access is asked only what the program asks."""

from collections import Counter

asked = Counter()


class Env:
    def __getattribute__(self, name):
        asked[name] += 1
        return object.__getattribute__(self, name)

    def reset(self):
        self.at = 0
        return 0

    def step(self, action):
        self.at += 1
        return self.at, 0.0, self.at > 5, {}


class Answering:
    """Like a wrapper of old: it forwards what it does not have."""

    def __init__(self, env):
        self.env = env

    def __getattr__(self, name):
        asked["forwarded", name] += 1
        return getattr(self.env, name)

    def reset(self):
        return self.env.reset()

    def step(self, action):
        return self.env.step(action)


for env in (Env(), Answering(Env())):
    for _ in range(40):
        env.reset()
        while not env.step(0)[2]:
            pass
print(asked)
