"""An ensemble of small critics, each with its own pass and its own optimizer, one after another.

    python critic_ensemble.py [--seconds 10] [--fixed] [--critics 32] [--truth FILE]

`--fixed` stacks the weights of all critics and computes them in batched matrix products.
"""

from __future__ import annotations

import argparse
from itertools import pairwise

import torch
from torch import nn
from truth import Loop

OBS, ACT = 24, 6


def critic(width):
    return nn.Sequential(
        nn.Linear(OBS + ACT, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
        nn.Linear(width, 1),
    )  # fmt: skip


class Stacked(nn.Module):
    """All critics in one tensor per layer."""

    def __init__(self, count, width):
        super().__init__()
        sizes = [OBS + ACT, width, width, 1]
        self.weights = nn.ParameterList(
            torch.randn(count, a, b) / a**0.5 for a, b in pairwise(sizes)
        )
        self.biases = nn.ParameterList(torch.zeros(count, 1, b) for b in sizes[1:])

    def forward(self, x):
        x = x.expand(len(self.weights[0]), *x.shape)
        for i, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = torch.baddbmm(b, x, w)
            x = torch.relu(x) if i < 2 else x
        return x[..., 0]


class OneByOne:
    def __init__(self, args, loop):
        self.nets = [critic(args.width).to(args.device) for _ in range(args.critics)]
        self.opts = [torch.optim.Adam(net.parameters(), lr=3e-4) for net in self.nets]
        self.span = loop.span

    def update(self, x, target):
        for net, opt in zip(self.nets, self.opts, strict=True):
            with self.span("learn.forward"):
                q = net(x).squeeze(-1)
            loss = (q - target).square().mean()
            with self.span("learn.optimizer"):
                opt.zero_grad()
            with self.span("learn.backward"):
                loss.backward()
            with self.span("learn.optimizer"):
                opt.step()

    def lowest(self, x):
        return torch.stack([net(x).squeeze(-1) for net in self.nets]).amin(0)


class Together:
    def __init__(self, args, loop):
        self.net = Stacked(args.critics, args.width).to(args.device)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=3e-4)

    def update(self, x, target):
        loss = (self.net(x) - target).square().mean(1).sum()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()

    def lowest(self, x):
        return self.net(x).amin(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--critics", type=int, default=32)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--size", type=int, default=1_000_000)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    # Recorded transitions, on the device as a whole.
    rows = torch.randn(args.size, OBS + ACT, device=args.device)
    reward = torch.randn(args.size, device=args.device)
    loop = Loop(args)
    critics = (Together if args.fixed else OneByOne)(args, loop)
    critics.update(rows[: args.batch], reward[: args.batch])
    for _ in loop:
        with loop.span("buffer.sample"):
            index = torch.randint(0, args.size - 1, (args.batch,), device=args.device)
            x, following, gained = rows[index], rows[index + 1], reward[index]
        with torch.no_grad(), loop.span("learn.target"):
            target = gained + 0.99 * critics.lowest(following)
        critics.update(x, target)
    loop.finish()


if __name__ == "__main__":
    main()
