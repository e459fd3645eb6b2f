"""A call of C that holds the GIL."""

import time

END = time.perf_counter() + 3


def schedule(step: int) -> int:
    """The next Python function: none of the time before it is its own."""
    return step + 1


def main() -> None:
    xs = [(i * 7919) % 100_003 for i in range(100_000)]
    step = 0
    while time.perf_counter() < END:
        sorted(xs)  # hot: native
        step = schedule(step)


main()
