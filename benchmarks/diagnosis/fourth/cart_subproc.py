# plants: subprocess-overhead @ kind = DummyVectorEnv if FIX1 else SubprocVectorEnv
"""Tianshou's process environments for CartPole (larger) and a store filled row by row in Python (smaller)."""

import sys
import time

import gymnasium as gym
import numpy as np
import torch
from tianshou.env import DummyVectorEnv, SubprocVectorEnv
from torch import nn

FIX1 = "--fixed" in sys.argv or "--fixed1" in sys.argv
FIX2 = "--fixed" in sys.argv or "--fixed2" in sys.argv
torch.set_num_threads(1)
N = 8


class Store:
    def __init__(self, size):
        self.size, self.n = size, 0
        self.s, self.s2 = np.zeros((size, 4), np.float32), np.zeros((size, 4), np.float32)
        self.a, self.r, self.d = (
            np.zeros(size, np.int64),
            np.zeros(size, np.float32),
            np.zeros(size, np.float32),
        )

    def put(self, s, a, r, s2, d):
        i = self.n % self.size
        self.s[i], self.a[i], self.r[i], self.s2[i], self.d[i] = (
            s.copy(),
            a.copy(),
            np.float32(r),
            s2.copy(),
            float(d),
        )
        self.n += 1

    def put_all(self, s, a, r, s2, d):
        i = np.arange(self.n, self.n + len(a)) % self.size
        self.s[i], self.a[i], self.r[i], self.s2[i], self.d[i] = s, a, r, s2, d
        self.n += len(a)

    def draw(self, b):
        i = np.random.randint(0, min(self.n, self.size), b)
        return [torch.from_numpy(x[i]) for x in (self.s, self.a, self.r, self.s2, self.d)]


def main():
    kind = DummyVectorEnv if FIX1 else SubprocVectorEnv
    envs = kind([lambda: gym.make("CartPole-v1") for _ in range(N)])
    q = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
    opt = torch.optim.Adam(q.parameters(), 1e-3, fused=True)
    store = Store(20000)
    obs, _ = envs.reset()
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < 9:
        with torch.no_grad():
            act = q(torch.from_numpy(np.asarray(obs, np.float32))).argmax(1).numpy()
        act = np.where(np.random.rand(N) < 0.1, np.random.randint(0, 2, N), act)
        nxt, rew, term, trunc, _ = envs.step(act)
        if FIX2:
            store.put_all(obs, act, rew, nxt, term)
        else:
            for i in range(N):
                store.put(obs[i], act[i], rew[i], nxt[i], term[i])
        over = np.flatnonzero(term | trunc)
        if len(over):
            nxt = np.array(nxt)
            nxt[over] = envs.reset(over)[0]
        obs = nxt
        steps += N
        if steps > 400 and steps % (4 * N) == 0:
            s, a, r, s2, d = store.draw(64)
            with torch.no_grad():
                y = r + 0.99 * (1 - d) * q(s2).max(1).values
            loss = (q(s).gather(1, a[:, None])[:, 0] - y).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    took = time.perf_counter() - start
    envs.close()
    print(f"{steps / took:.1f} steps/s")


if __name__ == "__main__":
    main()
