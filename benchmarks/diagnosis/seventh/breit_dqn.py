# plants: nothing
"""DQN with wide layers and a replay of a million transitions on CartPole."""
import argparse
import time

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Replay:
    def __init__(self, n, d):
        self.o, self.p = np.zeros((n, d), np.float32), np.zeros((n, d), np.float32)
        self.a, self.r, self.e = np.zeros(n, np.int64), np.zeros(n, np.float32), np.zeros(n, np.float32)
        self.n, self.k, self.full = n, 0, 0

    def add(self, o, a, r, p, e):
        i = self.k
        self.o[i], self.a[i], self.r[i], self.p[i], self.e[i] = o, a, r, p, e
        self.k, self.full = (i + 1) % self.n, min(self.full + 1, self.n)

    def batch(self, rng, m):
        i = rng.integers(0, self.full, m)
        return [torch.from_numpy(x[i]) for x in (self.o, self.a, self.r, self.p, self.e)]


def net(w=384):
    return nn.Sequential(nn.Linear(4, w), nn.ReLU(), nn.Linear(w, w), nn.ReLU(), nn.Linear(w, w), nn.ReLU(), nn.Linear(w, 2))


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--steps", type=int, default=7500)
    ap.add_argument("--start", type=int, default=3000)
    args = ap.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    env, q, t = gym.make("CartPole-v1"), net(), net()
    t.load_state_dict(q.state_dict())
    opt = torch.optim.Adam(q.parameters(), 2.5e-4, fused=True)
    mem = Replay(1_000_000, 4)
    o, _ = env.reset(seed=0)
    length, lengths, t0 = 0, [], time.perf_counter()
    for k in range(args.steps):
        eps = max(0.04, 1 - max(0, k - args.start) / 1500)
        if rng.random() < eps:
            a = int(rng.integers(2))
        else:
            with torch.inference_mode():
                a = int(q(torch.from_numpy(o)[None]).argmax())
        p, r, term, trunc, _ = env.step(a)
        mem.add(o, a, r, p, float(term))
        o, length = p, length + 1
        if term or trunc:
            lengths.append(length)
            length = 0
            o, _ = env.reset()
        if k >= args.start and k % 4 == 0:
            bo, ba, br, bp, be = mem.batch(rng, 256)
            with torch.no_grad():
                y = br + 0.99 * (1 - be) * t(bp).max(1).values
            loss = F.smooth_l1_loss(q(bo).gather(1, ba[:, None])[:, 0], y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        if k % 500 == 0:
            t.load_state_dict(q.state_dict())
    print("first and last episodes", np.mean(lengths[:10]), np.mean(lengths[-10:]))
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={args.steps}")
