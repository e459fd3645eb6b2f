"""A large convolutional network with a big batch: the device is what the run waits for.

python conv_large.py [--device cpu] [--updates 60] [--rows 1024]
"""

from __future__ import annotations

import argparse
import time

import torch
from torch import nn


class Frames:
    """A simulator on the device that draws: frames of 84 by 84."""

    def __init__(self, rows: int, device: str) -> None:
        self.rows, self.device = rows, device

    def reset(self):
        return torch.rand(self.rows, 4, 84, 84, device=self.device)

    def step(self, actions):
        frames = torch.rand(self.rows, 4, 84, 84, device=self.device)
        return frames, actions.float(), None, {}


class Tower(nn.Module):
    def __init__(self, width: int = 256) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(4, width, 5, stride=2), nn.ReLU()]
        for _ in range(6):
            layers += [nn.Conv2d(width, width, 3, padding=1), nn.ReLU()]
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(width, 19)

    def forward(self, frames):
        return self.head(self.body(frames).mean((2, 3)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--width", type=int, default=256)
    options = parser.parse_args()
    torch.manual_seed(0)
    env, network = Frames(options.rows, options.device), Tower(options.width)
    network.to(options.device)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-4)
    frames = env.reset()
    network(frames).mean().backward()
    optimizer.zero_grad()
    begin = time.perf_counter()
    for update in range(options.updates):
        with torch.no_grad():
            actions = network(frames).argmax(1)
        following, reward, _, _ = env.step(actions)
        loss = ((network(frames).gather(1, actions[:, None])[:, 0] - reward) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        frames = following
        if update % 20 == 19:
            print(f"{update + 1} {loss.item():.3f}")
    print(f"loop {time.perf_counter() - begin:.4f}")


if __name__ == "__main__":
    main()
