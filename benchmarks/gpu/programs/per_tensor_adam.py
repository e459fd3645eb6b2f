"""A deep residual policy with some four hundred parameter tensors, stepped one tensor at a time.

    python per_tensor_adam.py [--seconds 10] [--fixed] [--blocks 48] [--truth FILE]

`--fixed` uses Adam's fused kernel.
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from truth import Loop


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.fc1 = nn.LayerNorm(width), nn.Linear(width, width)
        self.norm2, self.fc2 = nn.LayerNorm(width), nn.Linear(width, width)

    def forward(self, x):
        return x + self.fc2(torch.relu(self.norm2(self.fc1(self.norm1(x)))))


class GoalReach:
    """Vectorized point mass with a goal, on the device."""

    def __init__(self, num_envs: int, dim: int, device: str) -> None:
        self.num_envs, self.dim, self.device = num_envs, dim, device

    def reset(self):
        self.x = torch.randn(self.num_envs, self.dim, device=self.device)
        return self.x

    def step(self, action):
        self.x = self.x + 0.1 * action
        return self.x, -self.x.square().sum(1), None, None, {}


parser = argparse.ArgumentParser(description=__doc__)
Loop.arguments(parser)
parser.add_argument("--fixed", action="store_true")
parser.add_argument("--blocks", type=int, default=48)
parser.add_argument("--width", type=int, default=256)
parser.add_argument("--envs", type=int, default=2048)
parser.add_argument("--updates", type=int, default=8, help="gradient steps per env step")
args = parser.parse_args()

torch.manual_seed(0)
torch.set_num_threads(1)
torch.set_float32_matmul_precision("high")
DIM = 16
policy = nn.Sequential(
    nn.Linear(DIM, args.width),
    *(Block(args.width) for _ in range(args.blocks)),
    nn.Linear(args.width, DIM + 1),
).to(args.device)
optimizer = (
    torch.optim.Adam(policy.parameters(), lr=1e-4, fused=True)
    if args.fixed
    else torch.optim.Adam(policy.parameters(), lr=1e-4, foreach=False)
)
env = GoalReach(args.envs, DIM, args.device)
obs = env.reset()
policy(obs).mean().backward()
optimizer.step()

loop = Loop(args)
for _ in loop:
    with torch.no_grad(), loop.span("policy.act"):
        action = policy(obs)[:, :DIM].tanh()
    with loop.span("env.step"):
        next_obs, reward, _, _, _ = env.step(action)
    for _ in range(args.updates):
        with loop.span("learn.forward"):
            out = policy(obs)
        loss = (out[:, DIM] - reward).square().mean() + 0.1 * (out[:, :DIM] + obs).square().mean()
        with loop.span("learn.optimizer"):
            optimizer.zero_grad(set_to_none=True)
        with loop.span("learn.backward"):
            loss.backward()
        with loop.span("learn.optimizer"):
            optimizer.step()
    obs = next_obs
loop.finish(args.envs)
