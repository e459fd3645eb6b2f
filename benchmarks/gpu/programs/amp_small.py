"""Automatic mixed precision around a network that is far too small for it.

    python amp_small.py [--seconds 10] [--fixed] [--batch 256] [--truth FILE]

`--fixed` trains in float32 without a gradient scaler.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from torch import nn
from truth import Loop

OBS, ACT, UPDATES = 24, 4, 4


class Walker:
    """A cheap simulator in NumPy with 16 bodies."""

    def __init__(self, n: int = 16) -> None:
        self.rng = np.random.default_rng(1)
        self.x = self.rng.normal(size=(n, OBS)).astype(np.float32)

    def step(self, action: np.ndarray):
        self.x = (0.97 * self.x).astype(np.float32)
        self.x[:, :ACT] += 0.1 * action
        return self.x.copy(), -np.square(self.x).sum(1), np.zeros(len(self.x), bool), {}


def mlp(i: int, o: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(i, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, o)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--batch", type=int, default=256)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    kind = args.device.split(":")[0]
    env, actor, critic = Walker(), mlp(OBS, ACT).to(args.device), mlp(OBS + ACT, 1).to(args.device)
    opt = torch.optim.Adam(
        [*actor.parameters(), *critic.parameters()], lr=1e-3, fused=kind == "cuda"
    )
    amp = not args.fixed
    scaler = torch.amp.GradScaler(kind, enabled=amp)
    size, filled = 50_000, 0
    store = torch.zeros(size, OBS + ACT + 1, device=args.device)
    loop = Loop(args)
    obs = env.x.copy()
    for _ in loop:
        with (
            torch.no_grad(),
            loop.span("policy.act"),
            torch.autocast(kind, torch.float16 if kind == "cuda" else torch.bfloat16, enabled=amp),
        ):
            action = actor(torch.from_numpy(obs).to(args.device)).float().tanh().cpu().numpy()
        with loop.span("env.step"):
            following, reward, _, _ = env.step(action)
        rows = np.concatenate([obs, action, reward[:, None].astype(np.float32)], 1)
        at = filled % (size - len(rows))
        store[at : at + len(rows)] = torch.from_numpy(rows).to(args.device)
        filled += len(rows)
        obs = following
        for _ in range(UPDATES):
            pick = torch.randint(0, max(1, min(filled, size)), (args.batch,), device=args.device)
            batch = store[pick]
            with torch.autocast(
                kind, torch.float16 if kind == "cuda" else torch.bfloat16, enabled=amp
            ):
                with loop.span("learn.forward"):
                    q = critic(batch[:, : OBS + ACT]).squeeze(1)
                    p = critic(torch.cat([batch[:, :OBS], actor(batch[:, :OBS]).tanh()], 1))
                loss = (q.float() - batch[:, -1]).square().mean() - p.float().mean()
            opt.zero_grad(set_to_none=True)
            with loop.span("learn.backward"):
                scaler.scale(loss).backward()
            with loop.span("learn.optimizer"):
                scaler.step(opt)
                scaler.update()
    loop.finish(16)


if __name__ == "__main__":
    main()
