"""Sleeping."""

import time

END = time.perf_counter() + 3


def schedule(step: int) -> int:
    """The next Python function: none of the time before it is its own."""
    return step + 1


def main() -> None:
    step = 0
    while time.perf_counter() < END:
        time.sleep(0.05)  # hot: sleeping
        step = schedule(step)


main()
