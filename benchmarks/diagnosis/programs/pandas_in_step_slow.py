"""A trading environment that looks prices up in a table in every step."""

import gymnasium as gym
import numpy as np
import pandas as pd
from _training import dqn


def table(rows: int = 4000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    close = 100 + rng.normal(0, 1, rows).cumsum()
    return pd.DataFrame({"close": close, "volume": rng.random(rows), "spread": rng.random(rows)})


class Market(gym.Env):
    def __init__(self, df: pd.DataFrame) -> None:
        self.df = df
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (13,), np.float32)
        self.action_space = gym.spaces.Discrete(3)
        self.t = 10

    def observation(self):
        past = self.df.iloc[self.t - 10 : self.t]["close"]
        row = self.df.iloc[self.t]
        mean = past.mean()
        return np.array([*(past / mean - 1), row["volume"], row["spread"], 1.0], np.float32)

    def price(self) -> float:
        return float(self.df.iloc[self.t]["close"])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = int(self.np_random.integers(10, len(self.df) - 300))
        self.end = self.t + 250
        return self.observation(), {}

    def step(self, action):
        before = self.price()
        self.t += 1
        reward = (int(action) - 1) * (self.price() - before)
        return self.observation(), reward, False, self.t >= self.end, {}


def main(env_class=Market) -> None:
    dqn(env_class(table()), 4000, every=4)


if __name__ == "__main__":
    main()
