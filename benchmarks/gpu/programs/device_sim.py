"""Half a million cart-poles simulated on the GPU next to their policy: healthy.

python device_sim.py [--seconds 10] [--envs 524288] [--width 256] [--truth FILE]
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from truth import Loop


class TorchCartPole:
    def __init__(self, num_envs: int, device: str) -> None:
        self.state = torch.zeros(num_envs, 4, device=device)

    def reset(self) -> torch.Tensor:
        self.state.uniform_(-0.05, 0.05)
        return self.state

    @torch.no_grad()
    def step(self, action: torch.Tensor):
        x, v, theta, omega = self.state.unbind(1)
        force = action.float() * 20 - 10
        cos, sin = theta.cos(), theta.sin()
        push = (force + 0.05 * omega.square() * sin) / 1.1
        turning = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos.square() / 1.1))
        moving = push - 0.05 * turning * cos / 1.1
        self.state = torch.stack(
            [x + 0.02 * v, v + 0.02 * moving, theta + 0.02 * omega, omega + 0.02 * turning], 1
        )
        done = (self.state[:, 0].abs() > 2.4) | (self.state[:, 2].abs() > 0.2095)
        self.state = torch.where(done[:, None], torch.zeros_like(self.state), self.state)
        return self.state, 1.0 - done.float(), done, {}


class Agent(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(4, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.heads = nn.Linear(width, 3)

    def forward(self, obs: torch.Tensor):
        out = self.heads(self.trunk(obs))
        return out[:, :2], out[:, 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--envs", type=int, default=524_288)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--horizon", type=int, default=8)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    env, agent = TorchCartPole(args.envs, args.device), Agent(args.width).to(args.device)
    opt = torch.optim.Adam(agent.parameters(), lr=3e-4, fused=args.device.startswith("cuda"))
    obs = env.reset()
    agent(obs)[1].mean().backward()
    loop = Loop(args)
    for _ in loop:
        rollout = []
        for _ in range(args.horizon):
            with torch.no_grad(), loop.span("policy.act"):
                logits, value = agent(obs)
                action = torch.bernoulli(torch.sigmoid(logits[:, 1] - logits[:, 0])).long()
            with loop.span("env.step"):
                following, reward, done, _ = env.step(action)
            rollout.append((obs, action, reward, value, done))
            obs = following
        value_after = agent(obs)[1].detach()
        for seen, action, reward, value, done in reversed(rollout):
            value_after = reward + 0.99 * value_after * ~done
            with loop.span("learn.forward"):
                logits, estimate = agent(seen)
            logp = logits.log_softmax(-1).gather(1, action[:, None])[:, 0]
            loss = (estimate - value_after).square().mean() - (logp * (value_after - value)).mean()
            with loop.span("learn.optimizer"):
                opt.zero_grad()
            with loop.span("learn.backward"):
                loss.backward()
            with loop.span("learn.optimizer"):
                opt.step()
    loop.finish(args.envs * args.horizon)


if __name__ == "__main__":
    main()
