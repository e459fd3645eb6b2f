"""On-device simulator; the act loop logs with `.item()`, so the host waits for the GPU every step.

    python sync_act.py [--seconds 10] [--fixed] [--envs 8192] [--width 1024] [--truth FILE]

`--fixed` sums the statistics on the device and reads them once per hundred steps.
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from truth import Loop

OBS, ACT = 48, 12
NAMES = ("reward", "value", "entropy", "speed", "done")


class LocoEnv:
    def __init__(self, n: int, device: str) -> None:
        self.pos = torch.zeros(n, OBS // 2, device=device)
        self.vel = torch.zeros(n, OBS // 2, device=device)
        self.mix = torch.randn(ACT, OBS // 2, device=device) / ACT**0.5

    def reset(self) -> torch.Tensor:
        self.pos.uniform_(-0.1, 0.1)
        self.vel.zero_()
        return torch.cat([self.pos, self.vel], 1)

    def step(self, action: torch.Tensor):
        self.vel = 0.95 * self.vel + 0.05 * (action.tanh() @ self.mix - torch.sin(self.pos))
        self.pos = self.pos + 0.02 * self.vel
        reward = self.vel[:, 0] - 0.01 * action.square().sum(1)
        done = self.pos.abs().amax(1) > 3.0
        self.pos = torch.where(done[:, None], torch.zeros_like(self.pos), self.pos)
        return torch.cat([self.pos, self.vel], 1), reward, done, {}


class ActorCritic(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(OBS, width), nn.ELU(), nn.Linear(width, width), nn.ELU(),
            nn.Linear(width, width), nn.ELU(),
        )  # fmt: skip
        self.mu, self.v = nn.Linear(width, ACT), nn.Linear(width, 1)
        self.log_std = nn.Parameter(torch.zeros(ACT))

    def forward(self, obs: torch.Tensor):
        h = self.body(obs)
        return self.mu(h), self.v(h).squeeze(-1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--envs", type=int, default=8192)
    parser.add_argument("--width", type=int, default=1024)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    env, agent = LocoEnv(args.envs, args.device), ActorCritic(args.width).to(args.device)
    cuda = args.device.startswith("cuda")
    opt = torch.optim.Adam(agent.parameters(), lr=3e-4, fused=cuda)
    obs = env.reset()
    agent(obs)[1].mean().backward()
    totals = dict.fromkeys(NAMES, 0.0)
    sums = torch.zeros(len(NAMES), device=args.device)
    rollout, loop = [], Loop(args)
    for step in loop:
        with torch.no_grad(), loop.span("policy.act"):
            mu, value = agent(obs)
            action = mu + agent.log_std.exp() * torch.randn_like(mu)
        with loop.span("env.step"):
            following, reward, done, _ = env.step(action)
        rollout.append((obs, action, reward))
        entropy = agent.log_std.detach().sum()
        stats = (reward, value, entropy, following[:, OBS // 2 :].norm(dim=1), done.float())
        if args.fixed:
            sums += torch.stack([each.mean() for each in stats])
            if step % 100 == 99:
                totals = dict(zip(NAMES, sums.tolist(), strict=True))
        else:
            for name, each in zip(NAMES, stats, strict=True):
                totals[name] += each.mean().item()
        obs = following
        if len(rollout) < 32:
            continue
        for seen, taken, gained in rollout[::8]:
            with loop.span("learn.forward"):
                mu, value = agent(seen)
            logp = -(((taken - mu) / agent.log_std.exp()) ** 2).sum(1) - agent.log_std.sum()
            advantage = gained - value
            loss = advantage.square().mean() - (logp * advantage.detach()).mean()
            with loop.span("learn.optimizer"):
                opt.zero_grad()
            with loop.span("learn.backward"):
                loss.backward()
            with loop.span("learn.optimizer"):
                opt.step()
        rollout.clear()
    loop.finish(args.envs)


if __name__ == "__main__":
    main()
