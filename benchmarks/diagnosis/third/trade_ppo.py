"""PPO on a single-asset trading environment (Stable-Baselines3)."""

# plants: pandas-in-step @ w = self.df.iloc[self.t - self.window + 1 : self.t + 1][FEATURES].values
import argparse
import time

import gymnasium as gym
import numpy as np
import pandas as pd
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

FEATURES = ["ret", "rsi", "macd", "vol", "bb_pos", "hour_sin"]


def make_prices(n=20000, seed=7):
    rng = np.random.default_rng(seed)
    close = 100 * np.exp(np.cumsum(rng.normal(0, 0.002, n)))
    df = pd.DataFrame({"close": close}, index=pd.date_range("2020-01-01", periods=n, freq="h"))
    df["ret"] = df["close"].pct_change()
    up = df["ret"].clip(lower=0).rolling(14).mean()
    down = (-df["ret"].clip(upper=0)).rolling(14).mean()
    df["rsi"] = up / (up + down + 1e-9) - 0.5
    df["macd"] = (df["close"].ewm(span=12).mean() - df["close"].ewm(span=26).mean()) / df["close"]
    df["vol"] = df["ret"].rolling(24).std() * 100
    mid, std = df["close"].rolling(20).mean(), df["close"].rolling(20).std()
    df["bb_pos"] = (df["close"] - mid) / (2 * std)
    df["hour_sin"] = np.sin(2 * np.pi * df.index.hour / 24)
    return df.dropna().reset_index(drop=True)


class TradingEnv(gym.Env):
    """Flat, long or short; the reward is the change of the log equity."""

    def __init__(self, df, window=12, fee=5e-4, as_arrays=False):
        super().__init__()
        self.df = df
        self.window = window
        self.fee = fee
        self.as_arrays = as_arrays
        if as_arrays:
            self.feats = df[FEATURES].to_numpy(np.float32)
            self.prices = df["close"].to_numpy()
        self.action_space = spaces.Discrete(3)
        self.observation_space = spaces.Box(
            -np.inf, np.inf, (window * len(FEATURES) + 2,), np.float32
        )

    def _price(self):
        if self.as_arrays:
            return self.prices[self.t]
        return self.df.iloc[self.t]["close"]

    def _observe(self):
        if self.as_arrays:
            w = self.feats[self.t - self.window + 1 : self.t + 1]
        else:
            w = self.df.iloc[self.t - self.window + 1 : self.t + 1][FEATURES].values
        return np.concatenate([w.ravel(), [self.position, self.pnl]]).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = int(self.np_random.integers(self.window, len(self.df) - 600))
        self.end = self.t + 500
        self.position = 0
        self.pnl = 0.0
        self.last = self._price()
        return self._observe(), {}

    def step(self, action):
        target = int(action) - 1
        cost = self.fee * abs(target - self.position)
        self.position = target
        self.t += 1
        price = self._price()
        reward = self.position * np.log(price / self.last) - cost
        self.last = price
        self.pnl += reward
        return self._observe(), float(reward * 100), False, self.t >= self.end, {}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=42000)
    ap.add_argument("--fixed", action="store_true")
    a = ap.parse_args()
    torch.set_num_threads(1)

    df = make_prices()
    venv = VecMonitor(DummyVecEnv([lambda: TradingEnv(df, as_arrays=a.fixed) for _ in range(8)]))
    model = PPO(
        "MlpPolicy",
        venv,
        n_steps=256,
        batch_size=512,
        n_epochs=4,
        learning_rate=3e-4,
        ent_coef=0.01,
        seed=0,
        device="cpu",
        policy_kwargs=dict(net_arch=[64, 64]),
    )
    t0 = time.perf_counter()
    model.learn(a.steps)
    dt = time.perf_counter() - t0
    print("mean episode reward", np.mean([e["r"] for e in model.ep_info_buffer] or [0.0]))
    print(f"loop_s {dt:.3f} steps {model.num_timesteps}")


if __name__ == "__main__":
    main()
