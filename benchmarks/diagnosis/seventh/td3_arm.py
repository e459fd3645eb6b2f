# plants: anomaly-mode @ with torch.autograd.set_detect_anomaly(True):
import argparse
import copy
import functools
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def watched(enabled):
    """Decorator for update rules: stops the run on a broken number."""
    def deco(fn):
        @functools.wraps(fn)
        def inner(*a, **k):
            if not enabled():
                out = fn(*a, **k)
            else:
                with torch.autograd.set_detect_anomaly(True):
                    out = fn(*a, **k)
            if not np.isfinite(out):
                raise FloatingPointError(f"{fn.__name__} returned {out}")
            return out
        return inner
    return deco


CFG = argparse.Namespace(watch=True)


class TwoLink:
    """A planar arm with two joints that must reach a point."""
    do, da = 8, 2

    def __init__(self, seed):
        self.g = np.random.default_rng(seed)

    def reset(self):
        self.q, self.v = self.g.uniform(-np.pi, np.pi, 2), np.zeros(2)
        r, f = self.g.uniform(0.4, 1.8), self.g.uniform(-np.pi, np.pi)
        self.goal, self.t = np.array([r * np.cos(f), r * np.sin(f)]), 0
        return self.look()

    def tip(self):
        a, b = self.q[0], self.q[0] + self.q[1]
        return np.array([np.cos(a) + np.cos(b), np.sin(a) + np.sin(b)])

    def look(self):
        return np.concatenate([np.cos(self.q), np.sin(self.q), self.v, self.goal - self.tip()]).astype(np.float32)

    def step(self, u):
        self.v = 0.9 * self.v + 0.1 * np.clip(u, -1, 1) * 3
        self.q = self.q + 0.05 * self.v
        self.t += 1
        d = np.linalg.norm(self.goal - self.tip())
        return self.look(), -d, self.t >= 100


def mlp(i, o, last=nn.Identity):
    return nn.Sequential(nn.Linear(i, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, o), last())


class TD3:
    def __init__(self, do, da):
        self.pi, self.q1, self.q2 = mlp(do, da, nn.Tanh), mlp(do + da, 1), mlp(do + da, 1)
        self.tpi, self.tq1, self.tq2 = map(copy.deepcopy, (self.pi, self.q1, self.q2))
        self.oq = torch.optim.Adam([*self.q1.parameters(), *self.q2.parameters()], 1e-3, fused=True)
        self.op = torch.optim.Adam(self.pi.parameters(), 1e-3, fused=True)
        self.k = 0

    @watched(lambda: CFG.watch)
    def critics(self, o, a, r, o2):
        with torch.no_grad():
            a2 = (self.tpi(o2) + (0.2 * torch.randn_like(a)).clamp(-0.5, 0.5)).clamp(-1, 1)
            x = torch.cat([o2, a2], 1)
            y = r + 0.98 * torch.min(self.tq1(x), self.tq2(x))
        x = torch.cat([o, a], 1)
        loss = F.mse_loss(self.q1(x), y) + F.mse_loss(self.q2(x), y)
        self.oq.zero_grad()
        loss.backward()
        self.oq.step()
        return loss.item()

    @watched(lambda: CFG.watch)
    def actor(self, o):
        loss = -self.q1(torch.cat([o, self.pi(o)], 1)).mean()
        self.op.zero_grad()
        loss.backward()
        self.op.step()
        with torch.no_grad():
            for n, t in ((self.pi, self.tpi), (self.q1, self.tq1), (self.q2, self.tq2)):
                torch._foreach_lerp_(list(t.parameters()), list(n.parameters()), 0.01)
        return loss.item()

    def update(self, batch):
        self.critics(*batch)
        self.k += 1
        if self.k % 2 == 0:
            self.actor(batch[0])


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--steps", type=int, default=3600)
    args = ap.parse_args()
    CFG.watch = not args.fixed
    torch.manual_seed(0)
    torch.set_num_threads(1)
    arm, agent = TwoLink(0), TD3(8, 2)
    O, A, R, O2 = (np.zeros((args.steps, k), np.float32) for k in (8, 2, 1, 8))
    o, ret, log = arm.reset(), 0.0, []
    t0 = time.perf_counter()
    for t in range(args.steps):
        if t < 500:
            a = arm.g.uniform(-1, 1, 2)
        else:
            with torch.no_grad():
                a = agent.pi(torch.from_numpy(o)).numpy() + 0.1 * arm.g.normal(size=2)
        o2, r, end = arm.step(a)
        O[t], A[t], R[t], O2[t] = o, a, r, o2
        o, ret = o2, ret + r
        if end:
            log.append(ret)
            o, ret = arm.reset(), 0.0
        if t >= 500:
            i = arm.g.integers(0, t + 1, 128)
            agent.update([torch.from_numpy(x[i]) for x in (O, A, R, O2)])
    print("first/last returns", np.mean(log[:5]).round(1), np.mean(log[-5:]).round(1))
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={args.steps}")
