"""Repeating a str."""

import time

END = time.perf_counter() + 3


def schedule(step: int) -> int:
    """The next Python function: none of the time before it is its own."""
    return step + 1


def main() -> None:
    text = "hot loop "
    step = 0
    while time.perf_counter() < END:
        _ = text * 100_000  # hot: native
        step = schedule(step)


main()
