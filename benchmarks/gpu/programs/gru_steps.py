"""Recurrent learning, one timestep at a time: thousands of tiny kernels for each update.

    python gru_steps.py [--updates 100] [--fused] [--truth FILE]

`--fused` gives the whole sequence to one `nn.GRU` call: the fix. Prints the seconds of its loop.
"""

from __future__ import annotations

import argparse
import contextlib
import time

import numpy as np
import torch
from torch import nn
from truth import Count, device_of, write_truth

LENGTH, BATCH, FEATURES, HIDDEN, ACTIONS = 48, 256, 32, 128, 6


class Memory(nn.Module):
    """A GRU with a value and a policy head; `fused` runs a sequence in one call."""

    def __init__(self, fused: bool) -> None:
        super().__init__()
        self.fused = fused
        self.gru = nn.GRU(FEATURES, HIDDEN) if fused else nn.GRUCell(FEATURES, HIDDEN)
        self.head = nn.Linear(HIDDEN, ACTIONS + 1)

    def forward(self, sequence: torch.Tensor) -> torch.Tensor:
        if self.fused:
            return self.head(self.gru(sequence)[0])
        hidden = sequence.new_zeros(sequence.shape[1], HIDDEN)
        outputs = []
        for row in sequence:
            hidden = self.gru(row, hidden)
            outputs.append(self.head(hidden))
        return torch.stack(outputs)


class Rooms:
    """Sequences of observations, as a vector environment of 256 rooms would give them."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)

    def reset(self):
        return self.random.normal(size=(BATCH, FEATURES)).astype(np.float32), {}

    def step(self, actions):
        state = self.random.normal(size=(BATCH, FEATURES)).astype(np.float32)
        return state, np.ones(BATCH, np.float32), np.zeros(BATCH, bool), np.zeros(BATCH, bool), {}


def train(device: str, updates: Count, fused: bool, span) -> float:
    torch.manual_seed(0)
    envs, agent = Rooms(), Memory(fused).to(device)
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-4)
    observation, _ = envs.reset()
    agent(torch.zeros(LENGTH, BATCH, FEATURES, device=device)).sum().backward()
    if device == "cuda":
        torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in updates:
        seen = []
        for _ in range(LENGTH):
            observation, *_ = envs.step(None)
            seen.append(torch.as_tensor(observation))
        sequence = torch.stack(seen).to(device)
        for _ in range(4):
            with span("learn.forward"):
                out = agent(sequence)
            loss = (out[..., ACTIONS] ** 2).mean() - torch.log_softmax(
                out[..., :ACTIONS], -1
            ).mean()
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
    parser.add_argument("--fused", action="store_true")
    parser.add_argument("--truth")
    options = parser.parse_args()
    device = device_of(options.device)
    torch.set_num_threads(1)
    updates = Count(options.updates, options.seconds)

    def run(span) -> float:
        return train(device, updates, options.fused, span)

    plain = contextlib.nullcontext()
    seconds = write_truth(run, options.truth) if options.truth else run(lambda name: plain)
    print(f"loop {seconds:.4f}")
    updates.report(seconds)


if __name__ == "__main__":
    main()
