"""Frees the allocator's cache and collects garbage after every update.

python tidy_every_update.py [--seconds 10] [--fixed] [--truth FILE]
"""

from __future__ import annotations

import argparse
import gc

import torch
from torch import nn
from truth import Loop

PLANES, ACT, ENVS = 12, 7, 512


class Board:
    """Boards on the device; a move adds a stone."""

    def __init__(self, device: str) -> None:
        self.cells = torch.zeros(ENVS, PLANES, 8, 8, device=device)

    def step(self, move: torch.Tensor):
        at = torch.arange(ENVS, device=move.device)
        self.cells[at, move, move, (move * 3) % 8] += 1.0
        full = self.cells.sum((1, 2, 3)) > 20
        self.cells *= (~full).float()[:, None, None, None]
        return self.cells.clone(), full.float(), full, {}


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(PLANES, 64, 3, padding=1), nn.ReLU()]
        for _ in range(6):
            layers += [nn.Conv2d(64, 64, 3, padding=1), nn.ReLU()]
        self.body = nn.Sequential(*layers, nn.Flatten())
        self.head = nn.Linear(64 * 64, ACT + 1)

    def forward(self, x: torch.Tensor):
        out = self.head(self.body(x))
        return out[:, :ACT], out[:, ACT]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    env, net = Board(args.device), ConvNet().to(args.device)
    opt = torch.optim.Adam(net.parameters(), lr=1e-4, fused=args.device.startswith("cuda"))
    loop = Loop(args)
    obs = env.cells.clone()
    for _ in loop:
        with torch.no_grad(), loop.span("policy.act"):
            move = torch.distributions.Categorical(logits=net(obs)[0]).sample()
        with loop.span("env.step"):
            following, reward, _, _ = env.step(move)
        with loop.span("learn.forward"):
            logits, value = net(obs)
        adv = reward - value
        logp = torch.log_softmax(logits, 1).gather(1, move[:, None]).squeeze(1)
        loss = adv.square().mean() - (logp * adv.detach()).mean()
        opt.zero_grad()
        with loop.span("learn.backward"):
            loss.backward()
        with loop.span("learn.optimizer"):
            opt.step()
        obs = following
        if not args.fixed:
            gc.collect()
            if args.device.startswith("cuda"):
                torch.cuda.empty_cache()
    loop.finish(ENVS)


if __name__ == "__main__":
    main()
