"""Off-policy learning from a replay buffer in host memory: rows are gathered, then copied.

    python host_replay.py [--updates 400] [--on-device] [--truth FILE]

`--on-device` keeps the buffer on the GPU: the fix. Prints the seconds of its own loop.
"""

from __future__ import annotations

import argparse
import contextlib
import time

import numpy as np
import torch
from torch import nn
from truth import Count, device_of, write_truth

SIZE, BATCH, ENVS, FRAME, ACTIONS = 20_000, 1024, 16, (4, 42, 42), 6


class Frames:
    """A vector environment with image observations that costs next to nothing."""

    def __init__(self) -> None:
        self.state = np.zeros((ENVS, *FRAME), np.uint8)

    def reset(self):
        return self.state, {}

    def step(self, actions):
        self.state[:, 0, 0, 0] += 1
        ended = np.zeros(ENVS, bool)
        return self.state, np.ones(ENVS, np.float32), ended, ended, {}


class ReplayBuffer:
    """A ring of frames, in host memory or on the device."""

    def __init__(self, device: str, on_device: bool) -> None:
        self.device, self.on_device = device, on_device
        place = device if on_device else "cpu"
        self.frames = torch.zeros(SIZE, *FRAME, dtype=torch.uint8, device=place)
        self.actions = torch.zeros(SIZE, dtype=torch.long, device=place)
        self.at = 0

    def add(self, frames, actions):
        rows = torch.arange(self.at, self.at + ENVS) % SIZE
        self.frames[rows] = torch.as_tensor(frames, device=self.frames.device)
        self.actions[rows] = torch.as_tensor(actions, device=self.frames.device)
        self.at += ENVS

    def sample(self):
        rows = torch.randint(0, SIZE, (BATCH,), device=self.frames.device)
        return self.frames[rows].to(self.device), self.actions[rows].to(self.device)


def train(device: str, updates: Count, on_device: bool, span) -> float:
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Flatten(),
        nn.Linear(576, 512), nn.ReLU(), nn.Linear(512, ACTIONS),
    ).to(device)  # fmt: skip
    envs, buffer = Frames(), ReplayBuffer(device, on_device)
    network(torch.zeros(2, *FRAME, device=device)).sum().backward()
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-4)
    observation, _ = envs.reset()
    if device == "cuda":
        torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in updates:
        with torch.no_grad(), span("policy.act"):
            values = network(torch.as_tensor(observation, device=device).float() / 255)
        actions = values.argmax(-1).cpu().numpy()
        with span("env.step"):
            observation, _reward, _ended, _, _ = envs.step(actions)
        with span("buffer.add"):
            buffer.add(observation, actions)
        with span("buffer.sample"):
            frames, chosen = buffer.sample()
        with span("learn.forward"):
            out = network(frames.float() / 255)
        loss = (out.gather(1, chosen[:, None]) - 1).pow(2).mean()
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
    parser.add_argument("--updates", type=int, default=400)
    parser.add_argument("--seconds", type=float, help="instead of --updates")
    parser.add_argument("--on-device", action="store_true")
    parser.add_argument("--truth")
    options = parser.parse_args()
    device = device_of(options.device)
    torch.set_num_threads(1)
    updates = Count(options.updates, options.seconds)

    def run(span) -> float:
        return train(device, updates, options.on_device, span)

    plain = contextlib.nullcontext()
    seconds = write_truth(run, options.truth) if options.truth else run(lambda name: plain)
    print(f"loop {seconds:.4f}")
    updates.report(seconds)


if __name__ == "__main__":
    main()
