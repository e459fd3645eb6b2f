"""An operator that releases the GIL."""

import time

import numpy as np

END = time.perf_counter() + 3


def schedule(step: int) -> int:
    """The next Python function: none of the time before it is its own."""
    return step + 1


def main() -> None:
    a = np.ones((400, 400))
    step = 0
    while time.perf_counter() < END:
        _ = a @ a  # hot: native
        step = schedule(step)


main()
