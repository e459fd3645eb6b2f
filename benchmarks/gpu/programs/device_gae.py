"""Generalized advantages in a loop over timesteps on device tensors: thousands of tiny kernels.

    python device_gae.py [--seconds 10] [--fixed] [--horizon 256] [--truth FILE]

`--fixed` computes the same recursion by doubling: eight rounds for 256 timesteps.
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from truth import Loop

GAMMA, LAMBDA = 0.99, 0.95


def gae_loop(rewards, values, dones, last_value):
    advantages = torch.zeros_like(rewards)
    running = torch.zeros_like(last_value)
    for t in reversed(range(len(rewards))):
        following = last_value if t == len(rewards) - 1 else values[t + 1]
        alive = 1.0 - dones[t]
        delta = rewards[t] + GAMMA * following * alive - values[t]
        running = delta + GAMMA * LAMBDA * alive * running
        advantages[t] = running
    return advantages


def gae_doubling(rewards, values, dones, last_value):
    alive = 1.0 - dones
    following = torch.cat([values[1:], last_value[None]])
    total = rewards + GAMMA * following * alive - values
    decay = GAMMA * LAMBDA * alive
    shift = 1
    while shift < len(rewards):
        tail = torch.cat([total[shift:], torch.zeros_like(total[:shift])])
        total = total + decay * tail
        decay = decay * torch.cat([decay[shift:], torch.zeros_like(decay[:shift])])
        shift *= 2
    return total


class Pendulums:
    def __init__(self, n, device):
        self.state = torch.zeros(n, 2, device=device)

    def reset(self):
        self.state.uniform_(-1, 1)
        return self.state

    def step(self, torque):
        angle, speed = self.state.unbind(1)
        speed = (speed + 0.05 * (15 * torch.sin(angle) + 3 * torque)).clamp(-8, 8)
        self.state = torch.stack([angle + 0.05 * speed, speed], 1)
        return self.state, -(angle**2 + 0.1 * speed**2), (speed.abs() >= 8).float(), {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--envs", type=int, default=1024)
    parser.add_argument("--horizon", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--width", type=int, default=64)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    envs, width, device = Pendulums(args.envs, args.device), args.width, args.device
    net = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, 2)).to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-4, fused=device.startswith("cuda"))
    gae = gae_doubling if args.fixed else gae_loop
    state = envs.reset()
    net(state).mean().backward()
    kept = {key: torch.zeros(args.horizon, args.envs, device=device) for key in "rvda"}
    states = torch.zeros(args.horizon, args.envs, 2, device=device)
    loop = Loop(args)
    for _ in loop:
        for t in range(args.horizon):
            with torch.no_grad(), loop.span("policy.act"):
                mean, kept["v"][t] = net(state).unbind(1)
                action = mean + torch.randn_like(mean)
            states[t], kept["a"][t] = state, action
            with loop.span("env.step"):
                state, kept["r"][t], kept["d"][t], _ = envs.step(action)
        for _ in range(args.epochs):
            # Advantages are recomputed in every epoch, with the values of the newest network.
            with loop.span("learn.forward"):
                mean, value = net(states).unbind(-1)
            with torch.no_grad(), loop.span("advantage"):
                advantage = gae(kept["r"], value, kept["d"], value[-1])
                returns = advantage + value
            policy = (0.5 * (kept["a"] - mean).square() * advantage).mean()
            loss = policy + (value - returns).square().mean()
            with loop.span("learn.optimizer"):
                optimizer.zero_grad()
            with loop.span("learn.backward"):
                loss.backward()
            with loop.span("learn.optimizer"):
                nn.utils.clip_grad_norm_(net.parameters(), 0.5)
                optimizer.step()
    loop.finish(args.envs * args.horizon)


if __name__ == "__main__":
    main()
