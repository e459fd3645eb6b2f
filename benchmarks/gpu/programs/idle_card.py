"""A wide network that is trained on the CPU although a GPU is there.

    python idle_card.py [--seconds 10] [--fixed]

`--fixed` moves network and batches to the GPU.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from torch import nn
from truth import Loop

OBS, ACT, ENVS, HORIZON = 128, 8, 256, 16


class Cells:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.x = self.rng.normal(size=(ENVS, OBS)).astype(np.float32)

    def reset(self):
        return self.x, {}

    def step(self, action: np.ndarray):
        self.x = np.tanh(self.x + 0.1 * action.repeat(OBS // ACT, 1)).astype(np.float32)
        done = self.x.mean(1) > 0.9
        return self.x, self.x[:, 0], done, np.zeros(ENVS, bool), {}


class Agent(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(OBS, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, width), nn.ReLU(),
        )  # fmt: skip
        self.mean, self.value = nn.Linear(width, ACT), nn.Linear(width, 1)

    def forward(self, x: torch.Tensor):
        h = self.body(x)
        return self.mean(h), self.value(h).squeeze(-1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--width", type=int, default=2048)
    args = parser.parse_args()
    torch.manual_seed(0)
    device = torch.device(args.device if args.fixed else "cpu")
    env, agent = Cells(), Agent(args.width).to(device)
    opt = torch.optim.Adam(agent.parameters(), lr=1e-4, fused=True)
    loop = Loop(args)
    obs, _ = env.reset()
    for _ in loop:
        steps = []
        for _ in range(HORIZON):
            with torch.no_grad():
                mean, _ = agent(torch.as_tensor(obs, device=device))
                action = mean + 0.3 * torch.randn_like(mean)
            following, reward, _, _, _ = env.step(action.cpu().numpy())
            steps.append((obs, action, reward))
            obs = following
        data = torch.as_tensor(np.stack([s[0] for s in steps]), device=device).flatten(0, 1)
        acts = torch.stack([s[1] for s in steps]).flatten(0, 1)
        rets = torch.as_tensor(np.stack([s[2] for s in steps]), device=device).flatten().float()
        for rows in torch.randperm(len(data), device=device).chunk(4):
            mean, value = agent(data[rows])
            adv = rets[rows] - value
            loss = adv.square().mean() + ((mean - acts[rows]).square().sum(1) * adv.detach()).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    loop.finish(ENVS * HORIZON)


if __name__ == "__main__":
    main()
