"""A call of C that releases the GIL."""

import hashlib
import time

END = time.perf_counter() + 3


def schedule(step: int) -> int:
    """The next Python function: none of the time before it is its own."""
    return step + 1


def main() -> None:
    block = bytes(2_000_000)
    step = 0
    while time.perf_counter() < END:
        hashlib.sha256(block)  # hot: native
        step = schedule(step)


main()
