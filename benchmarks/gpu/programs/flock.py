# plants: launch-bound @ return torch.stack([net(o) for net, o in zip(self.nets, obs, strict=True)])
"""Independent actor-critics: each bird of a flock has its own parameters.

python flock.py [--seconds 10] [--fixed] [--truth FILE]
"""

from __future__ import annotations

import argparse
import math
from itertools import pairwise

import torch
from torch import nn
from truth import Loop

OBS, MOVES = 14, 5


class Flock:
    def __init__(self, birds: int, worlds: int, device: str) -> None:
        self.place = torch.randn(birds, worlds, 2, device=device)
        self.speed = torch.zeros(birds, worlds, 2, device=device)
        self.moves = torch.tensor(
            [[0.0, 0.0], [0.1, 0.0], [-0.1, 0.0], [0.0, 0.1], [0.0, -0.1]], device=device
        )
        self.mix = torch.randn(6, OBS, device=device) / 3

    def look(self) -> torch.Tensor:
        centre = self.place.mean(0, keepdim=True) - self.place
        return torch.cat([self.place, self.speed, centre], -1) @ self.mix

    def step(self, action: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.speed = 0.9 * self.speed + self.moves[action]
        self.place = torch.clamp(self.place + self.speed, -5, 5)
        reward = -(self.place - self.place.mean(0, keepdim=True)).norm(dim=-1)
        return self.look(), reward


class Brains(nn.Module):
    """One network for each bird."""

    def __init__(self, birds: int, width: int) -> None:
        super().__init__()
        self.nets = nn.ModuleList(
            nn.Sequential(
                nn.Linear(OBS, width),
                nn.Tanh(),
                nn.Linear(width, width),
                nn.Tanh(),
                nn.Linear(width, MOVES + 1),
            )
            for _ in range(birds)
        )

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        return torch.stack([net(o) for net, o in zip(self.nets, obs, strict=True)])


class StackedBrains(nn.Module):
    def __init__(self, birds: int, width: int) -> None:
        super().__init__()
        sizes = (OBS, width, width, MOVES + 1)
        pairs = list(pairwise(sizes))
        self.weights = nn.ParameterList(torch.randn(birds, i, o) / math.sqrt(i) for i, o in pairs)
        self.biases = nn.ParameterList(torch.zeros(birds, 1, o) for _, o in pairs)

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        last = len(self.weights) - 1
        for layer, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            obs = torch.baddbmm(b, obs, w)
            if layer < last:
                obs = obs.tanh()
        return obs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--birds", type=int, default=16)
    parser.add_argument("--worlds", type=int, default=512)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--horizon", type=int, default=8)
    args = parser.parse_args()
    torch.manual_seed(2)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    device = args.device
    flock = Flock(args.birds, args.worlds, device)
    kind = StackedBrains if args.fixed else Brains
    brains = kind(args.birds, args.width).to(device)
    optimizer = torch.optim.Adam(brains.parameters(), lr=3e-4, fused=True)
    loop = Loop(args)
    obs = flock.look()
    for _ in loop:
        seen, acted, paid = [], [], []
        for _ in range(args.horizon):
            with torch.no_grad(), loop.span("policy.act"):
                logits = brains(obs)[..., :MOVES]
                gumbel = -torch.empty_like(logits).exponential_().log()
                action = (logits + gumbel).argmax(-1)
            seen.append(obs)
            acted.append(action)
            with loop.span("env.step"):
                obs, reward = flock.step(action)
            paid.append(reward)
        with torch.no_grad():
            goal = brains(obs)[..., MOVES]
            goals = []
            for reward in reversed(paid):
                goal = torch.add(reward, goal, alpha=0.98)
                goals.append(goal)
            goals = torch.cat(goals[::-1], 1)
        with loop.span("learn.forward"):
            out = brains(torch.cat(seen, 1))
            logp = nn.functional.log_softmax(out[..., :MOVES], -1)
            taken = logp.gather(-1, torch.cat(acted, 1)[..., None]).squeeze(-1)
            advantage = goals - out[..., MOVES]
            loss = (0.5 * advantage.square() - taken * advantage.detach()).mean(1).sum()
        optimizer.zero_grad()
        with loop.span("learn.backward"):
            loss.backward()
        with loop.span("learn.optimizer"):
            optimizer.step()
    loop.finish(args.worlds * args.horizon)


if __name__ == "__main__":
    main()
