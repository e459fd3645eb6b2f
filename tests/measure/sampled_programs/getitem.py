"""Indexing with an array."""

import time

import numpy as np

END = time.perf_counter() + 3


def schedule(step: int) -> int:
    """The next Python function: none of the time before it is its own."""
    return step + 1


def main() -> None:
    x = np.ones(500_000)
    index = np.arange(500_000)
    step = 0
    while time.perf_counter() < END:
        _ = x[index]  # hot: native
        step = schedule(step)


main()
