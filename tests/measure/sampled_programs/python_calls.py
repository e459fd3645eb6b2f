"""Calls of a Python function."""

import time

END = time.perf_counter() + 1.2


def step(position: int, velocity: int) -> int:
    # Enough to do: entering and leaving it, which is partly the caller's, takes far less.
    moved = position * 3 // 7 % 11 - position // 3 % 13 + velocity * 2 % 7 + velocity  # hot: python
    return moved % 1000


def episode() -> None:
    position = 0
    for _ in range(20_000):
        position = step(position, 3)


while time.perf_counter() < END:
    episode()
