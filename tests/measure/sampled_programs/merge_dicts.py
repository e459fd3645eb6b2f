"""A union of dicts."""

import time

END = time.perf_counter() + 3


def schedule(step: int) -> int:
    """The next Python function: none of the time before it is its own."""
    return step + 1


def main() -> None:
    d = dict.fromkeys(range(50_000))
    e = dict.fromkeys(range(50_000, 100_000))
    step = 0
    while time.perf_counter() < END:
        _ = d | e  # hot: native
        step = schedule(step)


main()
