# plants: data-loading @ pd.read_csv(
"""Offline fitted Q iteration on trading days that lie in one CSV file per day."""

import pathlib
import sys
import tempfile
import time

import numpy as np
import pandas as pd
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)


def write_days(folder, days=40, minutes=1500):
    rng = np.random.default_rng(0)
    for day in range(days):
        price = 100 + rng.normal(0, 0.05, minutes).cumsum()
        frame = pd.DataFrame(
            {
                "time": pd.date_range("2024-01-01", periods=minutes, freq="min")
                + pd.Timedelta(days=day),
                "open": price,
                "high": price + 0.1,
                "low": price - 0.1,
                "close": price + rng.normal(0, 0.02, minutes),
                "volume": rng.integers(1, 500, minutes),
            }
        )
        frame.to_csv(folder / f"day{day:03d}.csv", index=False)


class Market:
    """Features and rewards of both positions for each minute of a day."""

    def __init__(self, folder):
        self.files = sorted(folder.glob("*.csv"))
        self.kept = {}

    def load(self, path):
        frame = pd.read_csv(path, parse_dates=["time"])
        close = frame["close"].to_numpy()
        change = np.diff(close, prepend=close[0])
        mean = frame["close"].rolling(20, min_periods=1).mean().to_numpy()
        spread = (frame["high"] - frame["low"]).to_numpy()
        minute = frame["time"].dt.hour.to_numpy() / 24
        x = np.stack([change, close - mean, spread, frame["volume"] / 500, minute], 1)
        return torch.tensor(x, dtype=torch.float32), torch.tensor(change, dtype=torch.float32)

    def day(self, number):
        path = self.files[number % len(self.files)]
        if not FIXED:
            return self.load(path)
        if path not in self.kept:
            self.kept[path] = self.load(path)
        return self.kept[path]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_days(folder)
        market = Market(folder)
        q = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 2))
        target = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 2))
        optimizer = torch.optim.Adam(q.parameters(), 1e-3, fused=True)
        updates, start = 0, time.perf_counter()
        while time.perf_counter() - start < 7:
            x, change = market.day(updates)
            rows = torch.randint(0, len(x) - 1, (512,))
            position = torch.randint(0, 2, (512,))
            reward = (position * 2 - 1) * change[rows + 1]
            with torch.no_grad():
                goal = reward + 0.95 * target(x[rows + 1]).max(1).values
            loss = nn.functional.smooth_l1_loss(q(x[rows]).gather(1, position[:, None])[:, 0], goal)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            updates += 1
            if updates % 50 == 0:
                target.load_state_dict(q.state_dict())
        print(f"{updates / (time.perf_counter() - start):.1f} updates/s")


main()
