# plants: growing-step-cost @ d = max(
"""Trading agent; the step looks for the worst drawdown of its whole past."""

import random
import sys
import time

import numpy as np

F = "--fixed" in sys.argv


class E:
    def __init__(self):
        self.g = random.Random(0)
        self.r()

    def r(self):
        self.p, self.c, self.n, self.w = 100.0, 1000.0, 0, []
        self.m = 0.0
        self.b = 0.0
        return self.o()

    def o(self):
        return (min(int(abs(self.p - 100)), 9), int(self.p > 100), min(int(self.n), 3))

    def s(self, a):
        k = (-1, 0, 1)[a]
        if 0 <= self.n + k <= 3:
            self.n += k
            self.c -= k * self.p
        self.p += 0.1 * (100 - self.p) + self.g.gauss(0, 1)
        v = self.c + self.n * self.p
        if F:
            self.m = max(self.m, v)
            d = self.b = max(self.b, self.m - v)
        else:
            self.w.append(v)
            d = max(x - y for x, y in zip(np.maximum.accumulate(self.w), self.w, strict=True))
        return self.o(), (v - 1000) / 1000 - 0.01 * d, False


def main():
    e, q, g = E(), {}, random.Random(1)
    o, t = e.r(), time.perf_counter()
    n = 0
    for _ in range(8000):
        v = q.setdefault(o, [0.0, 0.0, 0.0])
        a = g.randrange(3) if g.random() < 0.1 else v.index(max(v))
        z, r, _ = e.s(a)
        v[a] += 0.1 * (r + 0.95 * max(q.setdefault(z, [0.0, 0.0, 0.0])) - v[a])
        o = z
        n += 1
        if n % 4000 == 0:
            o = e.r()
    print(f"{n / (time.perf_counter() - t):.1f} steps/s")


main()
