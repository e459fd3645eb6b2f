# plants: nothing
"""Planning with an ensemble of learned models of a plant with many coupled valves.

python ensemble_model.py [--seconds 10] [--truth FILE]
"""

from __future__ import annotations

import argparse
import math
from itertools import pairwise

import torch
from torch import nn
from truth import Loop

SIGNALS, VALVES = 48, 8


class Plant:
    def __init__(self, count: int, device: str) -> None:
        self.signal = torch.randn(count, SIGNALS, device=device)
        self.turn = torch.linalg.qr(torch.randn(SIGNALS, SIGNALS))[0].to(device)
        self.push = torch.randn(VALVES, SIGNALS, device=device) * 0.3

    def step(self, valves: torch.Tensor) -> torch.Tensor:
        self.signal = torch.tanh(1.1 * self.signal @ self.turn + valves @ self.push)
        return self.signal


class Ensemble(nn.Module):
    def __init__(self, members: int, width: int) -> None:
        super().__init__()
        sizes = (SIGNALS + VALVES, width, width, width, SIGNALS)
        pairs = list(pairwise(sizes))
        self.weights = nn.ParameterList(torch.randn(members, i, o) / math.sqrt(i) for i, o in pairs)
        self.biases = nn.ParameterList(torch.zeros(members, 1, o) for _, o in pairs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for weight, bias in list(zip(self.weights, self.biases, strict=True))[:-1]:
            x = nn.functional.relu(torch.baddbmm(bias, x, weight), inplace=True)
        return torch.baddbmm(self.biases[-1], x, self.weights[-1])


def reward(signal: torch.Tensor) -> torch.Tensor:
    return -signal.float().square().mean(-1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--members", type=int, default=7)
    parser.add_argument("--width", type=int, default=3072)
    parser.add_argument("--batch", type=int, default=8192)
    parser.add_argument("--plants", type=int, default=64)
    parser.add_argument("--plans", type=int, default=128)
    args = parser.parse_args()
    torch.manual_seed(9)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    device, kind = args.device, args.device.split(":")[0]
    plant = Plant(args.plants, device)
    model = Ensemble(args.members, args.width).to(device)
    adam = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    capacity = 4096 * args.plants
    table = torch.zeros(capacity, 2 * SIGNALS + VALVES, device=device)
    signal, at, filled = plant.signal, 0, 0
    low = {"device_type": kind, "dtype": torch.bfloat16}
    loop = Loop(args)
    for _ in loop:
        with torch.no_grad(), torch.autocast(**low), loop.span("policy.act"):
            tries = torch.rand(args.plants * args.plans, VALVES, device=device) * 2 - 1
            dream = signal.repeat_interleave(args.plans, 0)
            share = len(dream) // args.members * args.members
            dream = dream[:share].view(args.members, -1, SIGNALS)
            plan = tries[:share].view(args.members, -1, VALVES)
            worth = torch.zeros(share, device=device)
            for _ in range(2):
                dream = dream + model(torch.cat([dream, plan], -1))
                worth += reward(dream).flatten()
            worth = nn.functional.pad(worth, (0, len(tries) - share), value=-1e9)
            best = worth.view(args.plants, args.plans).argmax(1)
            valves = tries.view(args.plants, args.plans, VALVES)
            valves = valves[torch.arange(args.plants, device=device), best]
        with loop.span("env.step"):
            following = plant.step(valves)
        table[at : at + args.plants] = torch.cat([signal, valves, following - signal], 1)
        signal = following
        at = (at + args.plants) % capacity
        filled = min(filled + args.plants, capacity)
        pick = torch.randint(0, filled, (args.members, args.batch), device=device)
        rows = table[pick]
        with torch.autocast(**low), loop.span("learn.forward"):
            guess = model(rows[..., : SIGNALS + VALVES])
            loss = (guess.float() - rows[..., SIGNALS + VALVES :]).square().mean((1, 2)).sum()
        adam.zero_grad()
        with loop.span("learn.backward"):
            loss.backward()
        with loop.span("learn.optimizer"):
            adam.step()
    loop.finish(args.plants)


if __name__ == "__main__":
    main()
