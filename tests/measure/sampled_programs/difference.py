"""A difference of sets."""

import time

END = time.perf_counter() + 3


def schedule(step: int) -> int:
    """The next Python function: none of the time before it is its own."""
    return step + 1


def main() -> None:
    s, t = set(range(100_000)), set(range(50_000))
    step = 0
    while time.perf_counter() < END:
        _ = s - t  # hot: native
        step = schedule(step)


main()
