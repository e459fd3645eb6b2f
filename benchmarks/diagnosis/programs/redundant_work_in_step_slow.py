"""A market whose features are computed anew from the prices in every step."""

import gymnasium as gym
import numpy as np
from _training import dqn


class Market(gym.Env):
    def __init__(self) -> None:
        self.prices = 100 + np.random.default_rng(0).normal(0, 1, 5000).cumsum()
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (12,), np.float32)
        self.action_space = gym.spaces.Discrete(3)
        self.t = 300

    def indicators(self, t: int):
        values = []
        for window in (20, 50, 100, 200):
            part = self.prices[t - window : t]
            values += [part.mean(), part.std(), float(np.percentile(part, 90))]
        return np.array(values, np.float32) / self.prices[t]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = int(self.np_random.integers(300, 4000))
        self.end = self.t + 250
        return self.indicators(self.t), {}

    def step(self, action):
        self.t += 1
        reward = (int(action) - 1) * (self.prices[self.t] - self.prices[self.t - 1])
        return self.indicators(self.t), float(reward), False, self.t >= self.end, {}


def main(env_class=Market) -> None:
    dqn(env_class(), 5000, every=4)


if __name__ == "__main__":
    main()
