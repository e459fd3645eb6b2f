# plants: pandas-in-step @ row = self.data.iloc[
# plants: gc-every-step @ gc.collect()
"""Portfolio PPO from Stable-Baselines3: pandas rows in the step (larger), a garbage
collection per step (smaller).
"""

import gc
import sys
import time

import gymnasium as gym
import numpy as np
import pandas as pd
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv

torch.set_num_threads(1)
FIX1 = "--fixed" in sys.argv or "--fixed1" in sys.argv
FIX2 = "--fixed" in sys.argv or "--fixed2" in sys.argv
ASSETS = 6


def prices(days=2000):
    rng = np.random.default_rng(0)
    walk = 100 * np.exp(rng.normal(0, 0.01, (days, ASSETS)).cumsum(0))
    frame = pd.DataFrame(walk, columns=[f"asset{i}" for i in range(ASSETS)])
    for i in range(ASSETS):
        frame[f"mean{i}"] = frame[f"asset{i}"].rolling(10, min_periods=1).mean()
    return frame


class Portfolio(gym.Env):
    def __init__(self, data):
        self.data, self.array = data, data.to_numpy()
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (2 * ASSETS,), np.float32)
        self.action_space = gym.spaces.Box(-1, 1, (ASSETS,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.day = int(self.np_random.integers(10, 1500))
        self.end = self.day + 250
        return self._observe(), {}

    def _row(self, day):
        if FIX1:
            return self.array[day, :ASSETS], self.array[day, ASSETS:]
        row = self.data.iloc[day]
        price = np.array([row[f"asset{i}"] for i in range(ASSETS)])
        mean = np.array([row[f"mean{i}"] for i in range(ASSETS)])
        return price, mean

    def _observe(self):
        price, mean = self._row(self.day)
        before, _ = self._row(self.day - 1)
        return np.concatenate([price / mean - 1, price / before - 1]).astype(np.float32)

    def step(self, action):
        weight = np.exp(action) / np.exp(action).sum()
        before, _ = self._row(self.day)
        self.day += 1
        after, _ = self._row(self.day)
        reward = float(np.log((weight * after / before).sum()))
        return self._observe(), 100 * reward, False, self.day >= self.end, {}


class Tidy(BaseCallback):
    def _on_step(self):
        if not FIX2 and self.n_calls % 100 == 0:
            gc.collect()
        return True


if __name__ == "__main__":
    data = prices()
    model = PPO(
        "MlpPolicy",
        DummyVecEnv([lambda: Portfolio(data)] * 4),
        n_steps=128,
        n_epochs=4,
        seed=0,
        device="cpu",
    )
    steps = 8 * 512 if not (FIX1 and FIX2) else 20 * 512
    start = time.perf_counter()
    model.learn(steps, callback=Tidy())
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s")
