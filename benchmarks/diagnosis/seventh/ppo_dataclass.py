# plants: python-gae @ for k in range(self.rew.shape[1]):
import argparse
import time
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical


class CartFleet:
    """N cart-poles integrated together."""

    def __init__(self, n, seed=0):
        self.n, self.rng = n, np.random.default_rng(seed)
        self.s = self.rng.uniform(-0.05, 0.05, (n, 4))
        self.age = np.zeros(n, int)

    def obs(self):
        return self.s.astype(np.float32)

    def step(self, a):
        x, v, th, w = self.s.T
        f = np.where(a == 1, 10.0, -10.0)
        c, s = np.cos(th), np.sin(th)
        tmp = (f + 0.05 * w ** 2 * s) / 1.1
        ta = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c ** 2 / 1.1))
        xa = tmp - 0.05 * ta * c / 1.1
        self.s = np.stack([x + 0.02 * v, v + 0.02 * xa, th + 0.02 * w, w + 0.02 * ta], 1)
        self.age += 1
        done = (np.abs(self.s[:, 0]) > 2.4) | (np.abs(self.s[:, 2]) > 0.21) | (self.age >= 500)
        k = int(done.sum())
        if k:
            self.s[done] = self.rng.uniform(-0.05, 0.05, (k, 4))
            self.age[done] = 0
        return self.obs(), np.ones(self.n, np.float32), done


@dataclass
class Rollout:
    rew: torch.Tensor
    val: torch.Tensor
    done: torch.Tensor
    last: torch.Tensor
    gamma: float = 0.99
    lam: float = 0.95
    fast: bool = False
    _adv: torch.Tensor = field(default=None, repr=False)

    @property
    def advantages(self):
        if self._adv is None:
            self._adv = self._columns() if self.fast else self._cells()
        return self._adv

    def _cells(self):
        out = torch.zeros_like(self.rew)
        for k in range(self.rew.shape[1]):
            acc, nxt = 0.0, self.last[k]
            for t in reversed(range(self.rew.shape[0])):
                live = 1.0 - self.done[t, k]
                delta = self.rew[t, k] + self.gamma * nxt * live - self.val[t, k]
                acc = delta + self.gamma * self.lam * live * acc
                out[t, k] = acc
                nxt = self.val[t, k]
        return out

    def _columns(self):
        out, acc, nxt = torch.zeros_like(self.rew), torch.zeros_like(self.last), self.last
        for t in reversed(range(self.rew.shape[0])):
            live = 1.0 - self.done[t]
            acc = self.rew[t] + self.gamma * nxt * live - self.val[t] + self.gamma * self.lam * live * acc
            out[t] = acc
            nxt = self.val[t]
        return out

    @property
    def returns(self):
        return self.advantages + self.val


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh())
        self.pi, self.v = nn.Linear(128, 2), nn.Linear(128, 1)

    def forward(self, o):
        h = self.body(o)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--iterations", type=int, default=36)
    ap.add_argument("--envs", type=int, default=64)
    ap.add_argument("--horizon", type=int, default=128)
    args = ap.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    env, net = CartFleet(args.envs), Net()
    opt = torch.optim.Adam(net.parameters(), lr=7e-4, fused=True)
    T, N = args.horizon, args.envs
    obs = torch.from_numpy(env.obs())
    t0 = time.perf_counter()
    for it in range(args.iterations):
        O, A, L = torch.zeros(T, N, 4), torch.zeros(T, N, dtype=torch.long), torch.zeros(T, N)
        R, V, D = torch.zeros(T, N), torch.zeros(T, N), torch.zeros(T, N)
        with torch.no_grad():
            for t in range(T):
                d, v = net(obs)
                a = d.sample()
                O[t], A[t], L[t], V[t] = obs, a, d.log_prob(a), v
                o, r, done = env.step(a.numpy())
                R[t], D[t] = torch.from_numpy(r), torch.from_numpy(done.astype(np.float32))
                obs = torch.from_numpy(o)
            last = net(obs)[1]
            roll = Rollout(R, V, D, last, fast=args.fixed)
            adv, ret = roll.advantages.flatten(), roll.returns.flatten()
        O, A, L = O.view(-1, 4), A.flatten(), L.flatten()
        for epoch in range(4):
            for idx in torch.randperm(T * N).split(2048):
                d, v = net(O[idx])
                ratio = (d.log_prob(A[idx]) - L[idx]).exp()
                g = adv[idx]
                g = (g - g.mean()) / (g.std() + 1e-8)
                loss = -torch.min(ratio * g, ratio.clamp(0.8, 1.2) * g).mean() \
                    + 0.5 * (v - ret[idx]).pow(2).mean() - 0.01 * d.entropy().mean()
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 0.5)
                opt.step()
        if it % 5 == 4:
            print(f"iteration {it + 1}: episode length about {T * N / max(1, int(D.sum())) / 1:.0f}")
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={args.iterations * T * N}")


if __name__ == "__main__":
    main()
