# plants: growing-step-cost @ return (r - N.mean(s.R)) / (N.std(s.R) + 1e-3)
import argparse as A
import time as T

import gymnasium as G
import numpy as N
import torch as t
from torch import nn

p = A.ArgumentParser()
p.add_argument("--steps", type=int, default=16000)
p.add_argument("--fixed", action="store_true")
c = p.parse_args()
t.manual_seed(0)
t.set_num_threads(1)


class E(G.Env):
    # pump: keep the level h of a tank near a moving mark m, by u in {0, 1, 2}
    def __init__(s):
        s.observation_space = G.spaces.Box(-9, 9, (3,), N.float32)
        s.action_space = G.spaces.Discrete(3)
        s.R = []
        s.n, s.m1, s.m2 = 0, 0.0, 0.0

    def o(s):
        return N.array([s.h, s.m, s.m - s.h], N.float32)

    def reset(s, *, seed=None, options=None):
        super().reset(seed=seed)
        s.h, s.m = s.np_random.uniform(0, 2, 2)
        s.k = 0
        return s.o(), {}

    def z(s, r):
        # reward in units of its own spread
        if c.fixed:
            s.n += 1
            d = r - s.m1
            s.m1 += d / s.n
            s.m2 += d * (r - s.m1)
            v = (s.m2 / s.n) ** 0.5
            return (r - s.m1) / (v + 1e-3)
        s.R.append(r)
        return (r - N.mean(s.R)) / (N.std(s.R) + 1e-3)

    def step(s, u):
        s.h = max(0.0, s.h + 0.1 * u - 0.05 * (s.h + 1) ** 0.5)
        s.m = min(2.0, max(0.0, s.m + s.np_random.normal(0, 0.02)))
        s.k += 1
        r = -abs(s.m - s.h)
        return s.o(), float(s.z(r)), False, s.k >= 250, {"r": r}


class Q(nn.Module):
    def __init__(s):
        super().__init__()
        s.f = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        s.p, s.v = nn.Linear(64, 3), nn.Linear(64, 1)

    def forward(s, x):
        y = s.f(x)
        return s.p(y), s.v(y)[..., 0]


e, q = E(), Q()
w = t.optim.Adam(q.parameters(), 1e-3, fused=True)
x, _ = e.reset(seed=0)
i, B, g = 0, 256, 0.97
a0 = T.perf_counter()
while i < c.steps:
    X, U, R, D = (
        N.zeros((B, 3), N.float32),
        N.zeros(B, N.int64),
        N.zeros(B, N.float32),
        N.zeros(B, N.float32),
    )
    j, y = 0, 0.0
    while j < B:
        with t.no_grad():
            l, _ = q(t.from_numpy(x))
        u = int((l - t.empty(3).exponential_().log()).argmax())
        X[j], U[j] = x, u
        x, R[j], _, d, f = e.step(u)
        D[j] = d
        y += f["r"]
        if d:
            x, _ = e.reset()
        j += 1
    i += B
    with t.no_grad():
        b = float(q(t.from_numpy(x))[1])
    Z = N.zeros(B, N.float32)
    for j in range(B - 1, -1, -1):
        b = R[j] + g * b * (1 - D[j])
        Z[j] = b
    X, U, Z = t.from_numpy(X), t.from_numpy(U), t.from_numpy(Z)
    for _ in range(2):
        l, v = q(X)
        l = l.log_softmax(-1)
        k = Z - v.detach()
        k = (k - k.mean()) / (k.std() + 1e-6)
        L = (
            -(l.gather(1, U[:, None])[:, 0] * k).mean()
            + 0.5 * (v - Z).pow(2).mean()
            + 0.01 * (l.exp() * l).sum(-1).mean()
        )
        w.zero_grad()
        L.backward()
        w.step()
    if i % (B * 10) == 0:
        print(i, round(y / B, 4))
print(f"loop_s {T.perf_counter() - a0:.3f} steps {i}")
