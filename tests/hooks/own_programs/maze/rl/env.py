# ruff: noqa  (a program as people write them, kept as it is)
import numpy as np


class Maze:
    """No gymnasium here."""

    def __init__(self):
        self.n = 12

    def reset(self):
        self.p = np.zeros(2)
        self.t = 0
        return self._obs()

    def step(self, action):
        self.p = np.clip(self.p + [(0, 1), (1, 0), (0, -1), (-1, 0)][int(action)], 0, self.n)
        self.t += 1
        done = bool((self.p == self.n).all()) or self.t >= 60
        return self._obs(), -0.1, done, {}

    def render(self):
        return np.zeros((64, 64, 3), np.uint8)

    def _obs(self):
        x = np.zeros(4, np.float32)
        x[:2] = self.p / self.n
        x[2:] = np.sort(np.random.rand(300))[:2]
        return x
