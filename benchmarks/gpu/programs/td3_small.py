# plants: list-to-tensor @ s = torch.tensor([e[0] for e in b], dtype=torch.float32, device=d)
"""TD3 on a chain of springs simulated on the host.

python td3_small.py [--seconds 10] [--fixed] [--truth FILE]
"""

from __future__ import annotations

import argparse
import copy
import random

import numpy as np
import torch
from torch import nn
from truth import Loop

S, A = 48, 6


class Springs:
    def __init__(self, n: int, seed: int = 0) -> None:
        g = np.random.default_rng(seed)
        self.x = g.normal(size=(n, S // 2)).astype(np.float32)
        self.v = np.zeros_like(self.x)
        self.m = g.normal(size=(A, S // 2)).astype(np.float32)

    def obs(self) -> np.ndarray:
        return np.concatenate([self.x, self.v], 1)

    def step(self, a: np.ndarray):
        self.v += 0.05 * (a @ self.m - self.x - 0.1 * self.v)
        self.x += 0.05 * self.v
        done = np.abs(self.x).max(1) > 6
        r = -np.square(self.x).mean(1)
        following = self.obs()
        self.x[done] *= 0.1
        self.v[done] = 0
        return following, r, done.astype(np.float32)


class Memory:
    def __init__(self, size: int) -> None:
        self.rows, self.size, self.at = [], size, 0

    def __len__(self) -> int:
        return len(self.rows)

    def push(self, s, a, r, n, f) -> None:
        for e in zip(s, a, r, n, f, strict=True):
            if len(self.rows) < self.size:
                self.rows.append(e)
            else:
                self.rows[self.at] = e
                self.at = (self.at + 1) % self.size

    def sample(self, k: int, d: str):
        b = random.sample(self.rows, k)
        s = torch.tensor([e[0] for e in b], dtype=torch.float32, device=d)
        a = torch.tensor([e[1] for e in b], dtype=torch.float32, device=d)
        r = torch.tensor([e[2] for e in b], dtype=torch.float32, device=d)
        n = torch.tensor([e[3] for e in b], dtype=torch.float32, device=d)
        f = torch.tensor([e[4] for e in b], dtype=torch.float32, device=d)
        return s, a, r, n, f


class Ring:
    def __init__(self, size: int) -> None:
        self.size, self.at, self.full = size, 0, 0
        self.data = np.zeros((size, 2 * S + A + 2), dtype=np.float32)

    def __len__(self) -> int:
        return self.full

    def push(self, s, a, r, n, f) -> None:
        k = len(s)
        where = (self.at + np.arange(k)) % self.size
        self.data[where] = np.concatenate([s, a, n, r[:, None], f[:, None]], 1)
        self.at = (self.at + k) % self.size
        self.full = min(self.full + k, self.size)

    def sample(self, k: int, d: str):
        rows = torch.from_numpy(self.data[np.random.randint(0, self.full, k)]).to(d)
        s, a, n, r, f = rows.split([S, A, S, 1, 1], 1)
        return s, a, r.squeeze(1), n, f.squeeze(1)


def mlp(i: int, o: int, h: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(i, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, o))


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(p)
    p.add_argument("--fixed", action="store_true")
    p.add_argument("--envs", type=int, default=16)
    p.add_argument("--batch", type=int, default=512)
    p.add_argument("--hidden", type=int, default=256)
    o = p.parse_args()
    torch.manual_seed(5)
    random.seed(5)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    d, env, memory = o.device, Springs(o.envs), (Ring if o.fixed else Memory)(200_000)
    pi = mlp(S, A, o.hidden).to(d)
    q = nn.ModuleList(mlp(S + A, 1, o.hidden) for _ in range(2)).to(d)
    p2, q2 = copy.deepcopy(pi), copy.deepcopy(q)
    opt_pi = torch.optim.Adam(pi.parameters(), lr=3e-4, fused=True)
    opt_q = torch.optim.Adam(q.parameters(), lr=3e-4, fused=True)
    live, lag = [*pi.parameters(), *q.parameters()], [*p2.parameters(), *q2.parameters()]
    s = env.obs()
    while len(memory) < 2 * o.batch:
        a = np.random.uniform(-1, 1, (o.envs, A)).astype(np.float32)
        n, r, f = env.step(a)
        memory.push(s, a, r, n, f)
        s = env.obs()
    loop = Loop(o)
    for i in loop:
        with torch.no_grad(), loop.span("policy.act"):
            a = pi(torch.from_numpy(s).to(d)).tanh().cpu().numpy()
        a = (a + 0.1 * np.random.standard_normal(a.shape)).clip(-1, 1).astype(np.float32)
        with loop.span("env.step"):
            n, r, f = env.step(a)
        with loop.span("buffer.add"):
            memory.push(s, a, r, n, f)
        s = env.obs()
        with loop.span("buffer.sample"):
            bs, ba, br, bn, bf = memory.sample(o.batch, d)
        with torch.no_grad():
            na = p2(bn).tanh()
            na = (na + 0.2 * torch.randn_like(na)).clamp(-1, 1)
            na = torch.cat([bn, na], 1)
            y = br + 0.99 * (1 - bf) * torch.minimum(q2[0](na), q2[1](na)).squeeze(1)
        x = torch.cat([bs, ba], 1)
        loss = sum((c(x).squeeze(1) - y).square().mean() for c in q)
        opt_q.zero_grad()
        with loop.span("learn.backward"):
            loss.backward()
        with loop.span("learn.optimizer"):
            opt_q.step()
        if i % 2 == 0:
            loss = -q[0](torch.cat([bs, pi(bs).tanh()], 1)).mean()
            opt_pi.zero_grad()
            with loop.span("learn.backward"):
                loss.backward()
            with loop.span("learn.optimizer"):
                opt_pi.step()
            with torch.no_grad():
                torch._foreach_lerp_(lag, live, 0.005)
    loop.finish(o.envs)


if __name__ == "__main__":
    main()
