# plants: loader-bound @ workers = args.workers if args.fixed else 1
"""A small causal transformer that imitates recorded flights, conditioned on the return.

python offline_return.py [--seconds 10] [--fixed] [--truth FILE]
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from truth import Loop

STATE, CONTROL, WINDOW = 20, 4, 24


class Flights(Dataset):
    """Segments of flights of different lengths, resampled to a common rate."""

    def __init__(self, flights: int) -> None:
        rng = np.random.default_rng(6)
        self.records = []
        for _ in range(flights):
            length = int(rng.integers(150, 400))
            times = np.cumsum(rng.uniform(0.5, 1.5, length))
            states = np.cumsum(rng.normal(size=(length, STATE)), 0).astype(np.float32)
            controls = np.tanh(states[:, :CONTROL] * 0.1 + rng.normal(size=(length, CONTROL)))
            rewards = -np.abs(states[:, 0]) * 0.01
            self.records.append((times, states, controls.astype(np.float32), rewards))
        everything = np.concatenate([states for _, states, _, _ in self.records])
        self.mean, self.std = everything.mean(0), everything.std(0)

    def __len__(self) -> int:
        return 4_000_000

    def __getitem__(self, index: int):
        rng = np.random.default_rng(index)
        times, states, controls, rewards = self.records[rng.integers(len(self.records))]
        begin = rng.uniform(times[0], times[-1] - WINDOW)
        wanted = begin + np.arange(WINDOW)
        normal = (states - self.mean) / self.std
        seen = np.stack([np.interp(wanted, times, channel) for channel in normal.T], 1)
        seen = seen + 0.01 * rng.standard_normal(seen.shape)
        done = np.stack([np.interp(wanted, times, channel) for channel in controls.T], 1)
        left = np.interp(wanted, times, np.cumsum(rewards[::-1])[::-1])
        return (
            seen.astype(np.float32),
            done.astype(np.float32),
            left[:, None].astype(np.float32),
        )


class Layer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, w = x.shape
        heads = self.project(self.before(x)).view(b, t, 3, 4, w // 4).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(
            heads[0], heads[1], heads[2], is_causal=True
        )
        x = x + self.out(mixed.transpose(1, 2).reshape(b, t, w))
        return x + self.mlp(self.after(x))


class Imitator(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.embed = nn.Linear(STATE + CONTROL + 1, width)
        self.place = nn.Parameter(torch.zeros(WINDOW, width))
        self.layers = nn.Sequential(Layer(width), Layer(width), Layer(width))
        self.head = nn.Linear(width, CONTROL)

    def forward(self, seen, done, left) -> torch.Tensor:
        previous = nn.functional.pad(done[:, :-1], (0, 0, 1, 0))
        x = self.embed(torch.cat([seen, previous, left], -1)) + self.place
        return self.head(self.layers(x)).tanh()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--flights", type=int, default=300)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--workers", type=int, default=12)
    args = parser.parse_args()
    torch.manual_seed(6)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    device, on_card = args.device, args.device.startswith("cuda")
    workers = args.workers if args.fixed else 1
    loader = DataLoader(
        Flights(args.flights), args.batch, num_workers=workers, pin_memory=on_card, drop_last=True
    )
    batches = iter(loader)
    next(batches)
    model = Imitator(args.width).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    recent = torch.zeros((), device=device)
    loop = Loop(args)
    for i in loop:
        with loop.span("data.next"):
            batch = next(batches)
        seen, done, left = (part.to(device, non_blocking=True) for part in batch)
        with loop.span("learn.forward"):
            loss = (model(seen, done, left) - done).square().mean()
        optimizer.zero_grad()
        with loop.span("learn.backward"):
            loss.backward()
        with loop.span("learn.optimizer"):
            optimizer.step()
        recent.lerp_(loss.detach(), 0.01)
        if i % 500 == 499:
            print(f"update {i + 1}: loss {recent.item():.4f}", flush=True)
    loop.finish(args.batch)


if __name__ == "__main__":
    main()
