"""Behaviour cloning from recorded frames; one loader worker crops and normalizes on the CPU.

    python clip_loader.py [--seconds 10] [--fixed] [--batch 128] [--size 84]

`--fixed` uses twelve workers and pinned memory. Needs that many idle cores to help.
"""

import argparse
import json
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F  # noqa: N812
from torch.utils.data import DataLoader, Dataset, RandomSampler


class Demonstrations(Dataset):
    """Frames with the action a human took, with random shift and color jitter."""

    def __init__(self, count, size):
        rng = np.random.default_rng(0)
        self.size = size
        self.frames = rng.integers(0, 256, (count, size + 8, size + 8, 3), dtype=np.uint8)
        self.actions = rng.integers(0, 15, count)

    def __len__(self):
        return len(self.frames)

    def __getitem__(self, index):
        x, y = np.random.randint(0, 8, 2)
        frame = self.frames[index, y : y + self.size, x : x + self.size].astype(np.float32) / 255.0
        if np.random.rand() < 0.5:
            frame = frame[:, ::-1]
        gray = frame.mean(axis=2, keepdims=True)
        frame = gray + (frame - gray) * np.random.uniform(0.7, 1.3)
        frame = (frame - frame.mean((0, 1))) / (frame.std((0, 1)) + 1e-5)
        return torch.from_numpy(np.ascontiguousarray(frame.transpose(2, 0, 1))), self.actions[index]


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 64, 5, stride=2), nn.ReLU(), nn.Conv2d(64, 128, 3, stride=2), nn.ReLU(),
            nn.Conv2d(128, 128, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
        )  # fmt: skip
        self.head = nn.Sequential(nn.Linear(2048, 512), nn.ReLU(), nn.Linear(512, 15))

    def forward(self, x):
        return self.head(self.conv(x))


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    ap.add_argument("--seconds", type=float, default=10.0)
    ap.add_argument("--iterations", type=int)
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--size", type=int, default=84)
    ap.add_argument("--count", type=int, default=8000)
    ap.add_argument("--workers", type=int, help="default: 1, or 12 with --fixed")
    args = ap.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    cuda = args.device == "cuda"
    data = Demonstrations(args.count, args.size)
    loader = DataLoader(
        data,
        batch_size=args.batch,
        sampler=RandomSampler(data, replacement=True, num_samples=10**8),
        num_workers=args.workers or (12 if args.fixed else 1),
        pin_memory=args.fixed and cuda,
    )
    policy = Policy().to(args.device)
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4, fused=cuda)
    batches = iter(loader)
    # Workers start, kernels load, and what was prefetched meanwhile is used up.
    for _ in range(2 * loader.num_workers + 2):
        frames, actions = next(batches)
        F.cross_entropy(policy(frames.to(args.device)), actions.to(args.device)).backward()
    if cuda:
        torch.cuda.synchronize()

    updates, begin = 0, time.perf_counter()
    for frames, actions in batches:
        frames = frames.to(args.device, non_blocking=True)
        actions = actions.to(args.device, non_blocking=True)
        loss = F.cross_entropy(policy(frames), actions)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        updates += 1
        if updates == args.iterations:
            break
        if args.iterations is None and time.perf_counter() - begin > args.seconds:
            break
    if cuda:
        torch.cuda.synchronize()
    took = time.perf_counter() - begin
    del batches
    steps = updates * args.batch
    print(json.dumps({"loop_s": took, "steps": steps, "steps_per_s": steps / took}))


if __name__ == "__main__":
    main()
