# ruff: noqa  (a program as people write them, kept as it is)
"""Policy gradients in NumPy."""

import sys

import numpy as np

rng = np.random.default_rng(0)
H, D = 60, 30
model = {"W1": rng.standard_normal((H, D)) / np.sqrt(D), "W2": rng.standard_normal(H) / np.sqrt(H)}


class Game:
    def reset(self):
        self.t = 0
        return rng.standard_normal(D)

    def step(self, move):
        self.t += 1
        return rng.standard_normal(D), float(move), self.t >= 100, {}


def discount_rewards(r, gamma=0.99):
    out = np.zeros_like(r)
    run = 0
    for t in reversed(range(r.size)):
        run = run * gamma + r[t]
        out[t] = run
    return out


def policy_forward(x):
    h = model["W1"] @ x
    h[h < 0] = 0
    return 1 / (1 + np.exp(-model["W2"] @ h)), h


def policy_backward(eph, epd, epx):
    d2 = eph.T @ epd
    dh = np.outer(epd, model["W2"])
    dh[eph <= 0] = 0
    return {"W1": dh.T @ epx, "W2": d2.ravel()}


env = Game()
steps = 0
for ep in range(int(sys.argv[1])):
    x = env.reset()
    xs, hs, ds, rs = [], [], [], []
    done = False
    while not done:
        p, h = policy_forward(x)
        a = 1 if rng.random() < p else 0
        xs.append(x)
        hs.append(h)
        ds.append(a - p)
        x, r, done, _ = env.step(a)
        rs.append(r)
        steps += 1
    adv = discount_rewards(np.array(rs))
    adv -= adv.mean()
    g = policy_backward(np.vstack(hs), np.array(ds) * adv, np.vstack(xs))
    for k in model:
        model[k] += 1e-3 * g[k]
print(steps, ep + 1, float(model["W1"].sum()))
