"""Soft actor-critic whose ten critics' targets are updated tensor by tensor.

    python polyak_each.py [--seconds 10] [--fixed] [--truth FILE]

`--fixed` updates all targets with one call.
"""

from __future__ import annotations

import argparse
import copy

import torch
from torch import nn
from truth import Loop

OBS, ACT, ENVS, CRITICS, BATCH = 32, 8, 1024, 10, 512


class Pendulums:
    def __init__(self, device: str) -> None:
        self.state = torch.randn(ENVS, OBS, device=device)

    def step(self, u: torch.Tensor):
        self.state = torch.sin(self.state + 0.1 * u.repeat(1, OBS // ACT))
        return self.state, -self.state.square().mean(1), torch.zeros_like(u[:, 0]).bool(), {}


def net(i: int, o: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(i, 256), nn.LayerNorm(256), nn.ReLU(),
        nn.Linear(256, 256), nn.LayerNorm(256), nn.ReLU(), nn.Linear(256, o),
    )  # fmt: skip


@torch.no_grad()
def soften(target: nn.Module, source: nn.Module, tau: float = 0.005) -> None:
    for t, s in zip(target.parameters(), source.parameters(), strict=True):
        t.data.mul_(1.0 - tau)
        t.data.add_(tau * s.data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    env, actor = Pendulums(args.device), net(OBS, ACT).to(args.device)
    critics = nn.ModuleList(net(OBS + ACT, 1) for _ in range(CRITICS)).to(args.device)
    targets = copy.deepcopy(critics)
    fused = args.device.startswith("cuda")
    opt_c = torch.optim.Adam(critics.parameters(), lr=3e-4, fused=fused)
    opt_a = torch.optim.Adam(actor.parameters(), lr=3e-4, fused=fused)
    memory = [torch.zeros(100_000, n, device=args.device) for n in (OBS, ACT, 1, OBS)]
    loop = Loop(args)
    obs, at = env.state, 0
    for _ in loop:
        with torch.no_grad(), loop.span("policy.act"):
            action = actor(obs).tanh() + 0.1 * torch.randn(ENVS, ACT, device=args.device)
        with loop.span("env.step"):
            following, reward, _, _ = env.step(action)
        for part, rows in zip(memory, (obs, action, reward[:, None], following), strict=True):
            part[at : at + ENVS] = rows
        at = (at + ENVS) % (100_000 - ENVS)
        obs = following
        pick = torch.randint(0, max(at, ENVS), (BATCH,), device=args.device)
        o, a, r, n = (part[pick] for part in memory)
        with torch.no_grad():
            na = torch.cat([n, actor(n).tanh()], 1)
            goal = r + 0.99 * torch.stack([t(na) for t in targets]).amin(0)
        oa = torch.cat([o, a], 1)
        loss = sum((c(oa) - goal).square().mean() for c in critics)
        opt_c.zero_grad()
        with loop.span("learn.backward"):
            loss.backward()
        with loop.span("learn.optimizer"):
            opt_c.step()
        pi = torch.cat([o, actor(o).tanh()], 1)
        loss = -torch.stack([c(pi) for c in critics]).mean()
        opt_a.zero_grad()
        with loop.span("learn.backward"):
            loss.backward()
        with loop.span("learn.optimizer"):
            opt_a.step()
        if args.fixed:
            with torch.no_grad():
                torch._foreach_lerp_(list(targets.parameters()), list(critics.parameters()), 0.005)
        else:
            soften(targets, critics)
    loop.finish(ENVS)


if __name__ == "__main__":
    main()
