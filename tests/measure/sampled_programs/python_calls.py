"""Calls of a Python function."""

import time

END = time.perf_counter() + 3


def step(x: int, v: int) -> int:
    # Enough to do: entering and leaving it, which is partly the caller's, takes far less.
    return (x * 3 // 7 % 11 - x // 3 % 13 + x * 5 % 17 - x // 5 % 9 + v * 2 % 7) % 99  # hot: python


def episode() -> None:
    position = 0
    for _ in range(20_000):
        position = step(position, 3)


while time.perf_counter() < END:
    episode()
