"""A remainder of large integers."""

import time

END = time.perf_counter() + 3


def schedule(step: int) -> int:
    """The next Python function: none of the time before it is its own."""
    return step + 1


def main() -> None:
    n, m = 7**60_000, 5**20_000
    step = 0
    while time.perf_counter() < END:
        _ = n % m  # hot: native
        step = schedule(step)


main()
