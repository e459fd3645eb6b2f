"""A comprehension."""

import time

END = time.perf_counter() + 3


def squares(n: int) -> list[int]:
    return [i * i % 7 + (i * 3) // 5 - i % 11 for i in range(n)]  # hot: python


while time.perf_counter() < END:
    squares(20_000)
