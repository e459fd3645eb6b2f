"""Calls of a Python function."""

import time

END = time.perf_counter() + 3


def step(position: int, velocity: int) -> int:
    return (position + velocity * 2 - position // 3 + velocity % 5) % 1000  # hot: python


def episode() -> None:
    position = 0
    for _ in range(20_000):
        position = step(position, 3)


while time.perf_counter() < END:
    episode()
