"""A large actor-critic that keeps the GPU busy: the host only launches and waits.

    python large_actor_critic.py [--updates 100] [--width 4096] [--tf32] [--truth FILE]

No advantage is computed and the environment is cheap, so almost all time is kernels of the forward
pass, the backward pass and acting. `--tf32` lets matrix products use the tensor cores: the fix.
Prints the seconds of its own loop.
"""

from __future__ import annotations

import argparse
import contextlib
import time

import numpy as np
import torch
from torch import nn
from truth import Count, device_of, write_truth

ENVS, FEATURES, ACTIONS, STEPS = 4096, 256, 16, 4


class Walkers:
    """A vector environment that costs next to nothing."""

    def __init__(self, count: int) -> None:
        self.random = np.random.default_rng(0)
        self.state = self.random.normal(size=(count, FEATURES)).astype(np.float32)

    def reset(self):
        return self.state, {}

    def step(self, actions):
        self.state[:, 0] += actions * 0.01
        ended = self.state[:, 0] > 5
        return self.state, -self.state[:, 0], ended, ended & False, {}


def network(width: int) -> nn.Module:
    layers = [nn.Linear(FEATURES, width), nn.ReLU()]
    for _ in range(4):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, ACTIONS + 1))


def train(device: str, updates: Count, width: int, span) -> float:
    torch.manual_seed(0)
    envs, agent = Walkers(ENVS), network(width).to(device)
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-4)
    observation, _ = envs.reset()
    agent(torch.as_tensor(observation, device=device)).sum().backward()
    if device == "cuda":
        torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in updates:
        rollout = []
        for _ in range(STEPS):
            here = torch.as_tensor(observation, device=device)
            with torch.no_grad(), span("policy.act"):
                logits = agent(here)[:, :ACTIONS]
            action = logits.argmax(-1)
            with span("env.step"):
                observation, reward, _ended, _, _ = envs.step(action.cpu().numpy())
            rollout.append((here, action, torch.as_tensor(reward, device=device)))
        for here, action, reward in rollout:
            with span("learn.forward"):
                out = agent(here)
            chosen = torch.log_softmax(out[:, :ACTIONS], -1).gather(1, action[:, None])[:, 0]
            loss = ((out[:, ACTIONS] - reward) ** 2).mean() - (chosen * reward).mean()
            with span("learn.optimizer"):
                optimizer.zero_grad()
            with span("learn.backward"):
                loss.backward()
            with span("learn.optimizer"):
                optimizer.step()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device")
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--seconds", type=float, help="instead of --updates")
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--tf32", action="store_true")
    parser.add_argument("--truth")
    options = parser.parse_args()
    device = device_of(options.device)
    torch.set_num_threads(1)
    if options.tf32:
        torch.set_float32_matmul_precision("high")
    updates = Count(options.updates, options.seconds)

    def run(span) -> float:
        return train(device, updates, options.width, span)

    plain = contextlib.nullcontext()
    seconds = write_truth(run, options.truth) if options.truth else run(lambda name: plain)
    print(f"loop {seconds:.4f}")
    updates.report(seconds)


if __name__ == "__main__":
    main()
