"""A recurrent actor-critic: learning is one cuDNN call per sequence, acting one call per step, and
the GPU is idle between them. All of it in bfloat16.

python lstm_policy.py [--seconds 10] [--truth FILE]
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from truth import Loop

OBS, ACT, ENVS, HORIZON = 128, 16, 1024, 64


class Swarm:
    def __init__(self, device: str) -> None:
        self.x = torch.randn(ENVS, OBS, device=device)

    def step(self, action: torch.Tensor):
        self.x = torch.tanh(self.x.roll(1, 1) + 0.1 * action.repeat(1, OBS // ACT))
        return self.x, self.x.mean(1), self.x[:, 0] > 0.99, {}


class Recurrent(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(OBS, width, 2)
        self.mean, self.value = nn.Linear(width, ACT), nn.Linear(width, 1)

    def forward(self, x: torch.Tensor, state=None):
        h, state = self.lstm(x, state)
        return self.mean(h), self.value(h).squeeze(-1), state


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--width", type=int, default=1024)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    kind = args.device.split(":")[0]
    env, net = Swarm(args.device), Recurrent(args.width).to(args.device)
    opt = torch.optim.Adam(net.parameters(), lr=1e-4, fused=kind == "cuda")
    loop = Loop(args)
    obs = env.x
    for _ in loop:
        state, seen = None, []
        for _ in range(HORIZON):
            with torch.no_grad(), torch.autocast(kind, torch.bfloat16), loop.span("policy.act"):
                mean, _, state = net(obs[None], state)
            action = mean[0].float() + 0.3 * torch.randn(ENVS, ACT, device=args.device)
            with loop.span("env.step"):
                following, reward, _, _ = env.step(action)
            seen.append((obs, action, reward))
            obs = following
        o, a, r = (torch.stack(each) for each in zip(*seen, strict=True))
        for _ in range(2):
            with torch.autocast(kind, torch.bfloat16):
                with loop.span("learn.forward"):
                    mean, value, _ = net(o)
                adv = r - value
                loss = adv.square().mean() + ((mean - a).square().sum(-1) * adv.detach()).mean()
            opt.zero_grad()
            with loop.span("learn.backward"):
                loss.backward()
            with loop.span("learn.optimizer"):
                opt.step()
    loop.finish(ENVS * HORIZON)


if __name__ == "__main__":
    main()
