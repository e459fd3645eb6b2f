# plants: loader-bound @ rec = json.loads(self.lines[i])
"""Behaviour cloning from recorded drives (range scans to steering)."""
import argparse
import json
import math
import random
import time

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def record(n, seed):
    rnd = random.Random(seed)
    for _ in range(n):
        off, head = rnd.uniform(-1, 1), rnd.uniform(-0.6, 0.6)
        scan = []
        for k in range(180):
            ang = head + math.radians(k - 90)
            s = math.sin(ang)
            d = (1.5 - off) / s if s > 1e-3 else ((-1.5 - off) / s if s < -1e-3 else 20.0)
            scan.append(round(min(d, 20.0) + rnd.gauss(0, 0.02), 4))
        yield json.dumps({"pose": {"offset": off, "heading": head}, "scan": scan,
                          "act": {"steer": max(-1.0, min(1.0, -0.8 * off - 1.2 * head)), "gas": 0.6 - abs(head) / 2}})


class Drives(Dataset):
    def __init__(self, lines):
        self.lines = lines

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, i):
        rec = json.loads(self.lines[i])
        x = np.asarray(rec["scan"], dtype=np.float32)
        x = np.log1p(np.clip(x, 0, 20))
        return torch.from_numpy(x), torch.tensor([rec["act"]["steer"], rec["act"]["gas"]])


class Prepared(Drives):
    def __init__(self, lines):
        super().__init__(lines)
        self.x, self.y = map(torch.stack, zip(*(Drives.__getitem__(self, i) for i in range(len(lines)))))

    def __getitem__(self, i):
        return self.x[i], self.y[i]

    def __getitems__(self, idx):
        return list(zip(self.x[idx], self.y[idx]))


class Driver(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(180, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 2))

    def forward(self, x):
        return torch.tanh(self.f(x))


def train(model, loader, epochs):
    opt = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
    done = 0
    for e in range(epochs):
        total = torch.zeros(())
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.detach()
            done += 1
        print(f"epoch {e} loss {total.item() / len(loader):.5f}")
    return done


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--epochs", type=int, default=7)
    args = ap.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    lines = list(record(16000, 5))
    t0 = time.perf_counter()
    data = (Prepared if args.fixed else Drives)(lines)
    loader = DataLoader(data, batch_size=128, shuffle=True, num_workers=0, drop_last=True)
    n = train(Driver(), loader, args.epochs)
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={n}")


if __name__ == "__main__":
    main()
