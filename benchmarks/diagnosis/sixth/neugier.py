# plants: growing-step-cost @ naechste = min([math.dist((self.x, self.y), p) for p in self.wege]
"""Count-free novelty search: tabular explorer paid by the distance to every place it has seen."""

import math
import random
import sys
import time

SCHNELL = "--fixed" in sys.argv


class Insel:
    """Boat on a lake; the bonus is the distance to the nearest recorded waypoint."""

    def __init__(self):
        self.wind = random.Random(0)
        self.wege, self.felder = [], {}
        self.neu()

    def neu(self):
        self.x, self.y, self.kurs, self.t = 0.0, 0.0, 0.0, 0
        return self.lage()

    def lage(self):
        return int(self.x // 4), int(self.y // 4), int(self.kurs * 4 / math.pi) % 8

    def bonus(self):
        if SCHNELL:  # cells of the cap's size: only neighbours can be nearer than the cap
            i, j = int(self.x // 2), int(self.y // 2)
            nah = [p for a in (-1, 0, 1) for b in (-1, 0, 1) for p in self.felder.get((i + a, j + b), ())]
            naechste = min([math.dist((self.x, self.y), p) for p in nah], default=2.0)
        else:
            naechste = min([math.dist((self.x, self.y), p) for p in self.wege], default=2.0)
        return min(naechste, 2.0)

    def step(self, ruder):
        self.kurs = (self.kurs + (ruder - 1) * 0.4) % (2 * math.pi)
        self.x += math.cos(self.kurs) + self.wind.gauss(0, 0.1)
        self.y += math.sin(self.kurs) + self.wind.gauss(0, 0.1)
        lohn = self.bonus()
        if lohn > 0.5:
            self.wege.append((self.x, self.y))
            self.felder.setdefault((int(self.x // 2), int(self.y // 2)), []).append((self.x, self.y))
        self.t += 1
        return self.lage(), lohn, self.t >= 150


def main(schritte=30000):
    insel, g, q = Insel(), random.Random(1), {}
    s, summe, alle = insel.neu(), 0.0, []
    start = time.perf_counter()
    for _ in range(schritte):
        v = q.setdefault(s, [0.0] * 3)
        a = g.randrange(3) if g.random() < 0.15 else v.index(max(v))
        n, r, ende = insel.step(a)
        v[a] += 0.2 * (r + 0.95 * max(q.setdefault(n, [0.0] * 3)) - v[a])
        s, summe = n, summe + r
        if ende:
            alle.append(summe)
            s, summe = insel.neu(), 0.0
    print(f"steps {schritte} loop_s {time.perf_counter() - start:.3f} return {sum(alle) / len(alle):.2f}")


main()
