"""A lock that nobody releases."""

import threading
import time

END = time.perf_counter() + 3


def schedule(step: int) -> int:
    """The next Python function: none of the time before it is its own."""
    return step + 1


def main() -> None:
    lock = threading.Lock()
    lock.acquire()
    step = 0
    while time.perf_counter() < END:
        lock.acquire(timeout=0.1)  # hot: lock
        step = schedule(step)


main()
