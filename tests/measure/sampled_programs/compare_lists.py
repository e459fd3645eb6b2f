"""A comparison of lists, with the GIL held."""

import time

END = time.perf_counter() + 3


def schedule(step: int) -> int:
    """The next Python function: none of the time before it is its own."""
    return step + 1


def main() -> None:
    xs, ys = list(range(200_000)), list(range(200_000))
    step = 0
    while time.perf_counter() < END:
        _ = xs == ys  # hot: native
        step = schedule(step)


main()
