"""Access to an attribute that native code computes."""

import time

END = time.perf_counter() + 3


class Numbers(list):
    total = property(sum)


def schedule(step: int) -> int:
    return step + 1


def main() -> None:
    numbers = Numbers(range(100_000))
    step = 0
    while time.perf_counter() < END:
        _ = numbers.total  # hot: native
        step = schedule(step)


main()
