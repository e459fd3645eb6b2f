"""A loop of Python alone."""

import time

END = time.perf_counter() + 3


def count() -> int:
    n = 0
    for i in range(20_000):
        n = (n + i * 3 - n // 2 + (i - n) * 2 - i // 3 + n % 7) % 1001 - i * n % 5  # hot: python
    return n


while time.perf_counter() < END:
    count()
