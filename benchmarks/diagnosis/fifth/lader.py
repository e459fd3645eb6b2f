# plants: loader-bound @ loader = DataLoader(
"""Implicit Q-learning from logged drives; every sample is decoded and augmented in the
training process.
"""

import io
import sys
import time
import zlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

torch.set_num_threads(1)


def record(n=2000):
    """Compressed lidar scans with an action and a reward each."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(n):
        scan = np.abs(rng.normal(8, 3, 360)).astype(np.float32)
        buffer = io.BytesIO()
        np.save(buffer, scan)
        rows.append((zlib.compress(buffer.getvalue(), 6), rng.integers(0, 5), float(scan.min())))
    return rows


def decode(row):
    packed, action, reward = row
    scan = np.load(io.BytesIO(zlib.decompress(packed)))
    smooth = np.convolve(scan, np.hanning(9) / 4, "same")
    sectors = np.array([np.percentile(part, 10) for part in np.split(smooth, 36)])
    return sectors.astype(np.float32), np.int64(action), np.float32(reward)


class Drives(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows) - 1

    def __getitem__(self, i):
        scan, action, reward = decode(self.rows[i])
        return scan, action, reward, decode(self.rows[i + 1])[0]


def main():
    rows = record()
    if "--fixed" in sys.argv:
        scans, actions, rewards = (
            torch.from_numpy(np.stack(x)) for x in zip(*map(decode, rows), strict=True)
        )
        drives = TensorDataset(scans[:-1], actions[:-1], rewards[:-1], scans[1:])
    else:
        drives = Drives(rows)
    loader = DataLoader(drives, batch_size=64, shuffle=True, drop_last=True)
    q, v = (
        nn.Sequential(nn.Linear(36, 128), nn.ReLU(), nn.Linear(128, 5)),
        nn.Sequential(nn.Linear(36, 64), nn.ReLU(), nn.Linear(64, 1)),
    )
    optimizer = torch.optim.Adam([*q.parameters(), *v.parameters()], 3e-4, fused=True)
    updates, start = 0, time.perf_counter()
    while time.perf_counter() - start < 7:
        for scan, action, reward, after in loader:
            value = v(scan)[:, 0]
            chosen = q(scan).gather(1, action[:, None])[:, 0]
            difference = chosen.detach() - value
            expectile = torch.where(difference > 0, 0.7, 0.3) * difference.pow(2)
            goal = reward + 0.95 * v(after)[:, 0].detach()
            loss = expectile.mean() + (chosen - goal).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            updates += 1
    print(f"{updates / (time.perf_counter() - start):.1f} updates/s")


main()
