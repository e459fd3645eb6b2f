"""Arithmetic of large integers."""

import time

END = time.perf_counter() + 3


def schedule(step: int) -> int:
    """The next Python function: none of the time before it is its own."""
    return step + 1


def main() -> None:
    base = 3
    step = 0
    while time.perf_counter() < END:
        _ = base**20_000  # hot: native
        step = schedule(step)


main()
