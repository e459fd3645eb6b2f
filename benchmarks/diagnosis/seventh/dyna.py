# plants: buffer-cost-grows @ ks = list(m)
# plants: deepcopy-in-step @ return deepcopy(e)
import argparse
import random
from copy import deepcopy
from time import perf_counter

import numpy as np


class E:
    """Taxi in a city with wind; state is small but kept as objects."""

    N = 24

    def __init__(e, s):
        e.g = random.Random(s)
        e.w = [e.g.randrange(3) - 1 for _ in range(e.N)]
        e.b = {(e.g.randrange(e.N), e.g.randrange(e.N)) for _ in range(60)} - {(0, 0), (e.N - 1, e.N - 1)}
        e.p, e.t, e.d = (0, 0), 0, {"path": [], "cost": 0.0}

    def r(e):
        e.p, e.t, e.d = (0, 0), 0, {"path": [], "cost": 0.0}
        return e.p

    def s(e, a):
        x, y = e.p
        dx, dy = ((1, 0), (-1, 0), (0, 1), (0, -1))[a]
        if e.g.random() < 0.1:
            dy += e.w[x]
        q = min(max(x + dx, 0), e.N - 1), min(max(y + dy, 0), e.N - 1)
        if q not in e.b:
            e.p = q
        e.t += 1
        z = e.p == (e.N - 1, e.N - 1)
        c = 10.0 if z else -0.05
        e.d["path"].append(e.p)
        e.d["cost"] += c
        del e.d["path"][:-20]
        return e.p, c, z, z or e.t >= 400


def peek(e, slow):
    """What the monitor gets after each step."""
    if slow:
        return deepcopy(e)
    return e.p, e.t, e.d["cost"]


class M:
    """Model of the world: what followed, in order of the first visit."""

    def __init__(o, g):
        o.m, o.g, o.k = {}, g, []

    def put(o, s, a, r, q, z):
        if (s, a) not in o.m:
            o.k.append((s, a))
        o.m[s, a] = r, q, z

    def draw(o, n, slow):
        m = o.m
        for _ in range(n):
            if slow:
                ks = list(m)
            else:
                ks = o.k
            k = ks[o.g.randrange(len(ks))]
            yield k, m[k]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--fixed", action="store_true")
    p.add_argument("--steps", type=int, default=26000)
    x = p.parse_args()
    f = x.fixed
    e, g = E(2), random.Random(0)
    Q = np.zeros((E.N, E.N, 4))
    m = M(g)
    s, h, w, t0 = e.r(), [], 0, perf_counter()
    for t in range(x.steps):
        a = g.randrange(4) if g.random() < 0.1 else int((Q[s] + 1e-6 * np.array([g.random() for _ in range(4)])).argmax())
        q, r, z, d = e.s(a)
        Q[s][a] += 0.2 * (r + 0.97 * (0 if z else Q[q].max()) - Q[s][a])
        m.put(s, a, r, q, z)
        for (u, b), (c, v, y) in m.draw(25, not f):
            Q[u][b] += 0.2 * (c + 0.97 * (0 if y else Q[v].max()) - Q[u][b])
        h.append(peek(e, not f))
        del h[:-50]
        s = q
        if d:
            w += z
            s = e.r()
    print(f"reached {w}")
    print(f"loop_s={perf_counter() - t0:.2f} steps={x.steps}")


if __name__ == "__main__":
    main()
