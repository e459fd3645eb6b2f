# plants: deepcopy-in-step @ copy.deepcopy(self.k)
# plants: checkpointing @ pickle.dump(
"""Tabular agent: the step copies its shelf (larger), the table is pickled after each
episode (smaller).
"""

import copy
import os
import pickle
import random
import sys
import tempfile
import time

A = "--fixed" in sys.argv or "--fixed1" in sys.argv
B = "--fixed" in sys.argv or "--fixed2" in sys.argv


class R:
    def __init__(self, n=8):
        self.n = n

    def a(self):
        self.k = {"f": [[i, i % 3, "x" * (i % 4)] for i in range(self.n)], "h": None, "t": 0}
        random.shuffle(self.k["f"])
        return self.o()

    def o(self):
        f, h = self.k["f"], self.k["h"]
        return (tuple(x[1] for x in f[:5]), h[1] if h else -1)

    def s(self, u):
        k = self.k if A else copy.deepcopy(self.k)
        f = k["f"]
        if u == 0:
            f.append(f.pop(0))
        elif u == 1 and k["h"] is None and f:
            k["h"] = f.pop(0)
        elif u == 2 and k["h"] is not None:
            f.insert(0, k["h"])
            k["h"] = None
        k["t"] += 1
        self.k = k
        c = sum(f[j][1] <= f[j + 1][1] for j in range(len(f) - 1))
        return self.o(), c / self.n, k["t"] >= 100


def main():
    e, q, n = R(), {}, 0
    with tempfile.TemporaryDirectory() as d:
        p = os.path.join(d, "q.pkl")
        z = time.perf_counter()
        while time.perf_counter() - z < 7:
            o, x = e.a(), False
            while not x:
                v = q.setdefault(o, [0.0, 0.0, 0.0])
                u = random.randrange(3) if random.random() < 0.2 else v.index(max(v))
                i, r, x = e.s(u)
                w = q.setdefault(i, [0.0, 0.0, 0.0])
                v[u] += 0.1 * (r + 0.9 * max(w) - v[u])
                o = i
                n += 1
            if not B or n % 50000 == 0:
                with open(p, "wb") as g:
                    pickle.dump(q, g)
        print(f"{n / (time.perf_counter() - z):.1f} steps/s")


main()
