"""A search in a list, with the GIL held."""

import time

END = time.perf_counter() + 3


def schedule(step: int) -> int:
    """The next Python function: none of the time before it is its own."""
    return step + 1


def main() -> None:
    xs = list(range(100_000))
    step = 0
    while time.perf_counter() < END:
        _ = -1 in xs  # hot: native
        step = schedule(step)


main()
