# plants: slow-reset @ self.grid = Maze.cache.copy() if FIX1 else self.load()
# plants: python-gae @ delta = r[t] + gamma * last
"""Resets parse the level text again (larger); advantages by a Python loop over tensor scalars (smaller)."""

import sys
import time

import gymnasium as gym
import numpy as np
import torch
from torch import nn

FIX1 = "--fixed" in sys.argv or "--fixed1" in sys.argv
FIX2 = "--fixed" in sys.argv or "--fixed2" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(0)
LEVEL = "\n".join(" ".join(str((3 * i + 7 * j) % 5) for j in range(150)) for i in range(150))


class Maze(gym.Env):
    observation_space = gym.spaces.Box(0, 5, (25,), np.float32)
    action_space = gym.spaces.Discrete(4)
    cache = None

    def load(self):
        cells = {}
        for i, line in enumerate(LEVEL.split("\n")):
            for j, word in enumerate(line.split()):
                cells[i, j] = float(word)
        grid = np.zeros((150, 150), np.float32)
        for (i, j), value in cells.items():
            grid[i, j] = value
        return grid

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if FIX1 and Maze.cache is None:
            Maze.cache = self.load()
        self.grid = Maze.cache.copy() if FIX1 else self.load()
        self.i, self.j = (int(v) for v in self.np_random.integers(10, 140, 2))
        self.t = 0
        return self.window(), {}

    def window(self):
        return self.grid[self.i - 2 : self.i + 3, self.j - 2 : self.j + 3].reshape(-1)

    def step(self, a):
        di, dj = ((0, 1), (1, 0), (0, -1), (-1, 0))[a]
        self.i, self.j = min(max(self.i + di, 2), 147), min(max(self.j + dj, 2), 147)
        r = float(self.grid[self.i, self.j])
        self.grid[self.i, self.j] = 0
        self.t += 1
        return self.window(), r, False, self.t >= 40, {}


def gae(r, v, d, last, gamma=0.97, lam=0.9):
    if FIX2:
        r, v, d, last = r.tolist(), v.tolist(), d.tolist(), float(last)
        out, acc = [0.0] * len(r), 0.0
        for t in reversed(range(len(r))):
            acc = r[t] + gamma * last * (1 - d[t]) - v[t] + gamma * lam * (1 - d[t]) * acc
            out[t], last = acc, v[t]
        return torch.tensor(out)
    out, acc = torch.zeros_like(r), torch.zeros(())
    for t in reversed(range(len(r))):
        delta = r[t] + gamma * last * (1 - d[t]) - v[t]
        acc = delta + gamma * lam * (1 - d[t]) * acc
        out[t] = acc
        last = v[t]
    return out


env = Maze()
net = nn.Sequential(nn.Linear(25, 64), nn.Tanh(), nn.Linear(64, 5))
opt = torch.optim.Adam(net.parameters(), 1e-3, fused=True)
obs, _ = env.reset(seed=0)
steps, T, start = 0, 200, time.perf_counter()
while time.perf_counter() - start < 9:
    O, A = torch.zeros(T, 25), torch.zeros(T, dtype=torch.long)
    R, V, D = torch.zeros(T), torch.zeros(T), torch.zeros(T)
    for t in range(T):
        O[t] = torch.from_numpy(obs)
        with torch.no_grad():
            y = net(O[t])
        A[t] = torch.multinomial(torch.softmax(y[:4], 0), 1)[0]
        V[t] = y[4]
        obs, R[t], _, over, _ = env.step(int(A[t]))
        D[t] = float(over)
        if over:
            obs, _ = env.reset()
    with torch.no_grad():
        adv = gae(R, V, D, net(torch.from_numpy(obs))[4])
    for _ in range(4):
        y = net(O)
        lp = torch.log_softmax(y[:, :4], 1)[torch.arange(T), A]
        loss = (
            -(lp * (adv - adv.mean()) / (adv.std() + 1e-6)).mean()
            + 0.01 * (y[:, 4] - adv - V).pow(2).mean()
        )
        opt.zero_grad()
        loss.backward()
        opt.step()
    steps += T
print(f"{steps / (time.perf_counter() - start):.1f} steps/s")
