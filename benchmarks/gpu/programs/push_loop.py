"""A replay buffer that is filled one environment at a time from tensors on a device: 256 of them.

    python push_loop.py [--device cpu] [--steps 20] [--batched]

Each step moves 512 tensors (`.cpu()`) and reads 768 numbers (`.item()`): 1,280 transfers, each of
which waits. `--batched` moves five tensors a step instead.
"""

from __future__ import annotations

import argparse
import time
from collections import deque

import torch
from torch import nn

ENVS, FEATURES = 256, 11


class Snakes:
    """A stand-in for a simulator on the device: random walks."""

    def __init__(self, device: str) -> None:
        self.device = device

    def reset(self):
        self.state = torch.rand(ENVS, FEATURES, device=self.device)
        return self.state

    def step(self, actions):
        self.state = (self.state + 0.01 * actions[:, None]).remainder(1.0)
        reward = self.state.sum(1)
        return self.state, reward, reward > 9.0, {}


def push_each(buffer, states, actions, rewards, following, ended):
    for i in range(ENVS):
        buffer.append(
            (
                states[i].cpu().numpy(),  # state
                actions[i].item(),  # action
                rewards[i].item(),  # reward
                following[i].cpu().numpy(),  # following
                ended[i].item(),  # ended
            )
        )


def push_all(buffer, *columns):
    buffer.extend(zip(*(column.cpu().numpy() for column in columns), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batched", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(0)
    env, buffer = Snakes(options.device), deque(maxlen=100_000)
    network = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, 3))
    network.to(options.device)
    states = env.reset()
    push = push_all if options.batched else push_each
    begin = time.perf_counter()
    for _ in range(options.steps):
        with torch.no_grad():
            actions = network(states).argmax(1)
        following, rewards, ended, _ = env.step(actions)
        push(buffer, states, actions, rewards, following, ended)
        states = following
    print(f"loop {time.perf_counter() - begin:.4f}")


if __name__ == "__main__":
    main()
