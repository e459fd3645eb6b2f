"""A large convolutional actor-critic with everything in order: bf16, fused Adam, data on the GPU.

python conv_healthy.py [--seconds 10] [--width 256] [--rows 1024] [--truth FILE]
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from truth import Loop


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a = nn.Conv2d(width, width, 3, padding=1)
        self.b = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return torch.relu(x + self.b(torch.relu(self.a(x))))


class Net(nn.Module):
    def __init__(self, width, blocks):
        super().__init__()
        self.stem = nn.Conv2d(4, width, 5, stride=2)
        self.body = nn.Sequential(*(Residual(width) for _ in range(blocks)))
        self.pi, self.v = nn.Linear(width, 18), nn.Linear(width, 1)

    def forward(self, frames):
        x = self.body(torch.relu(self.stem(frames))).mean((2, 3))
        return self.pi(x), self.v(x).squeeze(-1)


class FrameSim:
    """Draws a moving square for each environment, on the device."""

    def __init__(self, rows, device, dtype):
        self.frames = torch.zeros(rows, 4, 84, 84, device=device, dtype=dtype)
        self.frames = self.frames.to(memory_format=torch.channels_last)
        self.t = 0

    def reset(self):
        return self.frames

    def step(self, actions):
        self.t += 1
        at = self.t % 76
        self.frames = self.frames.clone(memory_format=torch.preserve_format)
        self.frames[:, self.t % 4] = 0
        self.frames[:, self.t % 4, at : at + 8, at : at + 8] = 1
        reward = (actions == self.t % 18).float()
        return self.frames, reward, None, None, {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--blocks", type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    cuda = args.device.startswith("cuda")
    net = Net(args.width, args.blocks).to(args.device, memory_format=torch.channels_last)
    opt = torch.optim.Adam(net.parameters(), lr=1e-4, fused=cuda)
    env = FrameSim(args.rows, args.device, torch.bfloat16)
    half = torch.autocast("cuda" if cuda else "cpu", dtype=torch.bfloat16)
    obs = env.reset()
    for _ in range(2):
        with half:
            logits, value = net(obs)
        (logits.float().mean() + value.float().mean()).backward()
        opt.zero_grad()
        with torch.no_grad(), half:
            net(obs)
    loop = Loop(args)
    for _ in loop:
        with torch.no_grad(), half, loop.span("policy.act"):
            action = net(obs)[0].float().softmax(-1).multinomial(1)[:, 0]
        with loop.span("env.step"):
            following, reward, _, _, _ = env.step(action)
        with half, loop.span("learn.forward"):
            logits, value = net(obs)
        advantage = reward - value.float()
        logp = logits.float().log_softmax(-1).gather(1, action[:, None])[:, 0]
        loss = advantage.square().mean() - (logp * advantage.detach()).mean()
        with loop.span("learn.optimizer"):
            opt.zero_grad()
        with loop.span("learn.backward"):
            loss.backward()
        with loop.span("learn.optimizer"):
            opt.step()
        obs = following
    loop.finish(args.rows)


if __name__ == "__main__":
    main()
