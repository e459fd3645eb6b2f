# plants: loader-bound @ row = json.loads(
"""Offline TD3+BC-like training from a compressed log of episodes. (data-loading)"""

import json
import sys
import time
import zlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
torch.manual_seed(0)
EAGER = "--fixed" in sys.argv


class Log(Dataset):
    def __init__(self, n=4000):
        rng = np.random.default_rng(0)
        self.blobs = []
        for _ in range(n):
            row = {
                "s": rng.normal(size=17).tolist(),
                "a": rng.uniform(-1, 1, 6).tolist(),
                "r": float(rng.normal()),
                "s2": rng.normal(size=17).tolist(),
            }
            self.blobs.append(zlib.compress(json.dumps(row).encode()))
        self.rows = [self.decode(b) for b in self.blobs] if EAGER else None

    def decode(self, blob):
        row = json.loads(zlib.decompress(blob))
        return tuple(torch.tensor(row[k], dtype=torch.float32) for k in ("s", "a", "r", "s2"))

    def __len__(self):
        return len(self.blobs)

    def __getitem__(self, i):
        return self.rows[i] if EAGER else self.decode(self.blobs[i])


def mlp(i, o):
    return nn.Sequential(
        nn.Linear(i, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, o)
    )


class Trainer:
    def __init__(self):
        self.actor, self.critic = mlp(17, 6), mlp(23, 1)
        self.opt = torch.optim.Adam(
            [*self.actor.parameters(), *self.critic.parameters()], 3e-4, fused=True
        )

    def fit_batch(self, s, a, r, s2):
        with torch.no_grad():
            y = r[:, None] + 0.99 * self.critic(torch.cat([s2, torch.tanh(self.actor(s2))], 1))
        q = self.critic(torch.cat([s, a], 1))
        pi = torch.tanh(self.actor(s))
        loss = (
            (q - y).square().mean()
            + (pi - a).square().mean()
            - 0.1 * self.critic(torch.cat([s, pi], 1)).mean()
        )
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        self.opt.step()


def main():
    data = Log()
    trainer = Trainer()
    loader = DataLoader(data, batch_size=128, shuffle=True, drop_last=True)
    updates, start = 0, time.perf_counter()
    while time.perf_counter() - start < 8:
        for batch in loader:
            trainer.fit_batch(*batch)
            updates += 1
    print(f"{updates / (time.perf_counter() - start):.1f} steps/s")


main()
