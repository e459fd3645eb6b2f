# plants: nothing
# true online TD(lambda) control, tile coding, mountain car by hand
import math
import random
import time

random.seed(3)
T, K = 8, 8
a_, g_, l_ = 0.4 / T, 1.0, 0.9
w = [[0.0] * 3 for _ in range(T * (K + 1) * (K + 1))]


def f(x, v):
    p, q = (x + 1.2) / 1.7 * K, (v + 0.07) / 0.14 * K
    return [
        (t * (K + 1) + int(p + t / T)) * (K + 1) + int(q + 3 * t % T / T)
        for t in range(T)
    ]


def s(x, v, a):
    v = min(max(v + 0.001 * (a - 1) - 0.0025 * math.cos(3 * x), -0.07), 0.07)
    x = min(x + v, 0.5)
    if x < -1.2:
        x, v = -1.2, 0.0
    return x, v, x >= 0.5


def q(i, a):
    return sum(w[j][a] for j in i)


def pi(i):
    if random.random() < 0.02:
        return random.randrange(3)
    z = [q(i, a) for a in range(3)]
    return z.index(max(z))


t0, n, e_ = time.process_time(), 0, 0
while n < 160000:
    x, v = random.uniform(-0.6, -0.4), 0.0
    i = f(x, v)
    a = pi(i)
    z = {}
    old, d, m = 0.0, False, 0
    while not d and m < 1000:
        x, v, d = s(x, v, a)
        k = f(x, v)
        b = pi(k)
        c, h = q(i, a), 0.0 if d else q(k, b)
        dl = -1.0 + g_ * h - c
        dot = sum(z.get((j, a), 0.0) for j in i)
        for u in list(z):
            z[u] *= g_ * l_
            if z[u] < 0.01:
                del z[u]
        for j in i:
            z[j, a] = z.get((j, a), 0.0) + 1 - a_ * g_ * l_ * dot
        for (j, b_), y in z.items():
            w[j][b_] += a_ * (dl + c - old) * y
        for j in i:
            w[j][a] -= a_ * (c - old)
        old, i, a = h, k, b
        m += 1
        n += 1
    e_ += 1
    if e_ % 50 == 0:
        print(e_, m)
print(f"cpu {time.process_time() - t0:.2f} work {n}")
