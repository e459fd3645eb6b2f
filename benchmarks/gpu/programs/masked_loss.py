"""Minibatches with a boolean mask: selecting rows by a mask makes the host wait for the GPU.

    python masked_loss.py [--seconds 10] [--fixed] [--envs 4096] [--truth FILE]

`--fixed` multiplies by the mask instead of selecting with it, and keeps statistics on the device.
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from truth import Loop

OBS, ACT, HORIZON, MINIBATCHES = 64, 6, 8, 16


class Arena:
    """Games of different lengths: a slot whose game is over is masked until the next rollout."""

    def __init__(self, n: int, device: str) -> None:
        self.state = torch.randn(n, OBS, device=device)
        self.push = torch.randn(ACT, OBS, device=device) * 0.1

    def step(self, action: torch.Tensor):
        self.state = 0.98 * self.state + self.push[action]
        reward = -self.state[:, :4].abs().mean(1)
        return self.state, reward, self.state[:, 0].abs() > 1.5


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(OBS, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh())
        self.pi, self.v = nn.Linear(256, ACT), nn.Linear(256, 1)

    def forward(self, x: torch.Tensor):
        h = self.trunk(x)
        return self.pi(h), self.v(h).squeeze(-1)


def selected_loss(net: Net, obs, act, ret, alive, stats: list[float]) -> torch.Tensor:
    logits, value = net(obs[alive])
    logp = torch.log_softmax(logits, 1).gather(1, act[alive][:, None]).squeeze(1)
    adv = ret[alive] - value
    far = adv.abs()[adv.abs() > 1.0]
    if far.numel() > 0:
        stats.append(far.numel() / max(1, adv.numel()))
    return adv.square().mean() - (logp * adv.detach()).mean()


def weighted_loss(net: Net, obs, act, ret, alive, stats: list[torch.Tensor]) -> torch.Tensor:
    logits, value = net(obs)
    logp = torch.log_softmax(logits, 1).gather(1, act[:, None]).squeeze(1)
    adv, w = ret - value, alive.float()
    total = w.sum().clamp_min(1.0)
    stats.append(((adv.detach().abs() > 1.0) * w).sum() / total)
    return (w * adv.square()).sum() / total - (w * logp * adv.detach()).sum() / total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--envs", type=int, default=4096)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    env, net = Arena(args.envs, args.device), Net().to(args.device)
    opt = torch.optim.Adam(net.parameters(), lr=3e-4, fused=args.device.startswith("cuda"))
    loss_of = weighted_loss if args.fixed else selected_loss
    loop = Loop(args)
    obs = env.state
    for _ in loop:
        seen = []
        alive = torch.ones(args.envs, dtype=torch.bool, device=args.device)
        for _ in range(HORIZON):
            with torch.no_grad(), loop.span("policy.act"):
                action = torch.distributions.Categorical(logits=net(obs)[0]).sample()
            with loop.span("env.step"):
                following, reward, over = env.step(action)
            seen.append((obs, action, reward, alive))
            alive = alive & ~over
            obs = following
        stats: list = []
        o, a, r, m = (torch.cat(each) for each in zip(*seen, strict=True))
        order = torch.randperm(len(o), device=args.device).chunk(MINIBATCHES)
        for rows in order:
            loss = loss_of(net, o[rows], a[rows], r[rows], m[rows], stats)
            opt.zero_grad()
            with loop.span("learn.backward"):
                loss.backward()
            with loop.span("learn.optimizer"):
                opt.step()
    loop.finish(args.envs * HORIZON)


if __name__ == "__main__":
    main()
