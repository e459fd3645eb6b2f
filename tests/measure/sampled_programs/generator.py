"""A generator: its frame is in the generator's own memory."""

import time
from collections import deque
from collections.abc import Iterator

END = time.perf_counter() + 3


def returns(n: int) -> Iterator[int]:
    total = 0
    for i in range(n):
        yield (total * 99 + i * i - total // 3 + i % 7 + (i - total) * 2) % 101  # hot: python


while time.perf_counter() < END:
    deque(returns(20_000), maxlen=0)
