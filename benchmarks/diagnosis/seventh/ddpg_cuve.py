# plants: evaluation @ cfg = SimpleNamespace(eval_every=200, eval_episodes=12, stacked=False)
# plants: list-to-tensor @ return [torch.tensor(list(c), dtype=torch.float32) for c in zip(*rows)]
import argparse
import copy
import math
import random
import time
from types import SimpleNamespace

import numpy as np
import torch
import torch.nn as nn

cfg = SimpleNamespace(eval_every=200, eval_episodes=12, stacked=False)


def every(key):
    def deco(f):
        def g(self, t):
            if t % getattr(cfg, key) == 0:
                f(self, t)
        return g
    return deco


class Reactor:
    """Stirred tank: keep the temperature on a moving target by the cooling."""

    def __init__(self, seed):
        self.g = random.Random(seed)

    def reset(self):
        self.c, self.T, self.t, self.ref = self.g.uniform(0.4, 0.9), self.g.uniform(0.3, 0.7), 0, self.g.uniform(0.4, 0.6)
        return self.obs()

    def obs(self):
        return np.array([self.c, self.T, self.ref, self.ref - self.T, math.sin(self.t / 20), math.cos(self.t / 20), 1.0, self.t / 150],
                        np.float32)

    def step(self, u):
        k = math.exp(4.0 * (self.T - 0.8))
        self.c += 0.1 * (1 - self.c - 2 * k * self.c)
        self.T += 0.1 * (0.35 - self.T + 1.2 * k * self.c - 0.3 * (float(u[0]) + 0.5))
        self.T = min(max(self.T, 0.0), 1.5)
        self.t += 1
        if self.g.random() < 0.02:
            self.ref = self.g.uniform(0.4, 0.6)
        return self.obs(), -10 * (self.T - self.ref) ** 2 - 0.01 * float(u[0]) ** 2, self.t >= 150


def mlp(i, o, *end):
    return nn.Sequential(nn.Linear(i, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, o), *end)


class Memory(list):
    cap = 30000
    at = 0

    def add(self, row):
        if len(self) < self.cap:
            self.append(row)
        else:
            self[self.at] = row
            self.at = (self.at + 1) % self.cap

    def take(self, n):
        rows = random.choices(self, k=n)
        if cfg.stacked:
            return [torch.from_numpy(np.array(c, np.float32)) for c in zip(*rows)]
        return [torch.tensor(list(c), dtype=torch.float32) for c in zip(*rows)]


class Agent:
    def __init__(self):
        self.pi, self.q = mlp(8, 1, nn.Tanh()), mlp(9, 1)
        self.tpi, self.tq = copy.deepcopy(self.pi), copy.deepcopy(self.q)
        self.op = torch.optim.Adam(self.pi.parameters(), 5e-4, fused=True)
        self.oq = torch.optim.Adam(self.q.parameters(), 1e-3, fused=True)
        self.mem = Memory()

    @torch.no_grad()
    def act(self, o):
        return self.pi(torch.from_numpy(o)).numpy()

    def learn(self):
        o, a, r, o2 = self.mem.take(128)
        with torch.no_grad():
            y = r[:, None] + 0.97 * self.tq(torch.cat([o2, self.tpi(o2)], 1))
        lq = (self.q(torch.cat([o, a], 1)) - y).pow(2).mean()
        self.oq.zero_grad()
        lq.backward()
        self.oq.step()
        lp = -self.q(torch.cat([o, self.pi(o)], 1)).mean()
        self.op.zero_grad()
        lp.backward()
        self.op.step()
        with torch.no_grad():
            for n, t in ((self.pi, self.tpi), (self.q, self.tq)):
                torch._foreach_lerp_(list(t.parameters()), list(n.parameters()), 0.01)


class Run:
    def __init__(self, steps):
        self.env, self.test, self.agent, self.steps = Reactor(0), Reactor(1), Agent(), steps

    @every("eval_every")
    def score(self, t):
        out = []
        for _ in range(cfg.eval_episodes):
            o, end, s = self.test.reset(), False, 0.0
            while not end:
                o, r, end = self.test.step(self.agent.act(o))
                s += r
            out.append(s)
        if t % 4000 == 0:
            print(f"{t} score {np.mean(out):.2f}", flush=True)

    def go(self):
        o = self.env.reset()
        for t in range(1, self.steps + 1):
            a = np.clip(self.agent.act(o) + 0.1 * np.random.randn(1).astype(np.float32), -1, 1)
            o2, r, end = self.env.step(a)
            self.agent.mem.add((o, a, r, o2))
            o = self.env.reset() if end else o2
            if t > 500 and t % 3 == 0:
                self.agent.learn()
            self.score(t)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--steps", type=int, default=12000)
    args = ap.parse_args()
    if args.fixed:
        cfg.eval_every, cfg.eval_episodes, cfg.stacked = 2000, 5, True
    torch.manual_seed(0), np.random.seed(0), random.seed(0)
    torch.set_num_threads(1)
    run = Run(args.steps)
    t0 = time.perf_counter()
    run.go()
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={args.steps}")
