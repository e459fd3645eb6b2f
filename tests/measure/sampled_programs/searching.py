"""A method of C."""

import re
import time

END = time.perf_counter() + 3


def schedule(step: int) -> int:
    """The next Python function: none of the time before it is its own."""
    return step + 1


def main() -> None:
    pattern = re.compile("x+y")
    text = "x" * 1500
    step = 0
    while time.perf_counter() < END:
        pattern.search(text)  # hot: native
        step = schedule(step)


main()
