# plants: data-loading @ step = json.loads(self.rows[index])
"""Conservative Q-learning on logged episodes of a heating controller (JSON lines on disk)."""

import argparse
import json
import os
import tempfile
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

SENSORS = [f"room{i}" for i in range(24)]


def write_log(path, n=6000):
    g = np.random.default_rng(0)
    state = g.normal(20, 2, 24)
    with open(path, "w") as out:
        for i in range(n):
            action = int(g.integers(4))
            nxt = 0.95 * state + 0.05 * 20 + 0.3 * (action - 1.5) + g.normal(0, 0.2, 24)
            record = {
                "at": i,
                "obs": dict(zip(SENSORS, state.tolist())),
                "next": dict(zip(SENSORS, nxt.tolist())),
                "action": action,
                "reward": -float(np.abs(nxt - 21).mean()),
                "meta": {"site": "block C", "flags": ["auto", "logged"], "version": [1, 4, 2]},
            }
            out.write(json.dumps(record) + "\n")
            state = nxt


class Log(Dataset):
    def __init__(self, path, decode_once):
        with open(path) as f:
            self.rows = f.read().splitlines()
        self.decoded = [self._decode(i) for i in range(len(self.rows))] if decode_once else None

    def __len__(self):
        return len(self.rows)

    def _decode(self, index):
        step = json.loads(self.rows[index])
        obs = np.array([step["obs"][s] for s in SENSORS], dtype=np.float32) / 20
        nxt = np.array([step["next"][s] for s in SENSORS], dtype=np.float32) / 20
        return obs, step["action"], np.float32(step["reward"]), nxt

    def __getitem__(self, index):
        return self.decoded[index] if self.decoded else self._decode(index)


class Twin(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
        self.b = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x):
        return self.a(x), self.b(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--epochs", type=int, default=24)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    path = os.path.join(tempfile.mkdtemp(), "log.jsonl")
    write_log(path)
    loader = DataLoader(Log(path, args.fixed), batch_size=256, shuffle=True, drop_last=True)
    q, target = Twin(), Twin()
    target.load_state_dict(q.state_dict())
    opt = torch.optim.Adam(q.parameters(), lr=3e-4, fused=True)
    begin, updates = time.process_time(), 0
    for epoch in range(args.epochs):
        for obs, action, reward, nxt in loader:
            with torch.no_grad():
                best = torch.minimum(*target(nxt)).max(1).values
                goal = reward + 0.95 * best
            loss = 0.0
            for values in q(obs):
                taken = values.gather(1, action[:, None]).squeeze(1)
                gap = (values.logsumexp(1) - taken).mean()
                loss = loss + F.mse_loss(taken, goal) + 0.5 * gap
            opt.zero_grad()
            loss.backward()
            opt.step()
            updates += 1
            if updates % 50 == 0:
                target.load_state_dict(q.state_dict())
        print(f"epoch {epoch}: {loss.item():.4f}")
    print(f"cpu {time.process_time() - begin:.2f} work {updates}")


if __name__ == "__main__":
    main()
