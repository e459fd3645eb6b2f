# plants: reset-leak @ self.listeners.append(Shadow(self.rng.normal(size=2)))
# %% [markdown]
# # REINFORCE with a baseline on a small "follow the beacon" world
# Exported from a notebook. Run all cells.

# %%
import sys
import time

import matplotlib
import numpy as np
import torch

matplotlib.use("Agg")
torch.set_num_threads(1)
FIXED = "--fixed" in sys.argv
EPISODES = 330


# %%
class Shadow:
    """Follows the agent with a lag; drawn in the pictures of the appendix."""

    def __init__(self, at):
        self.at = np.array(at)

    def notify(self, where):
        self.at += 0.1 * (where - self.at)


class Beacon:
    def __init__(self):
        self.rng = np.random.default_rng(0)
        self.listeners = []

    def reset(self):
        if FIXED:
            self.listeners = []
        for _ in range(2):
            self.listeners.append(Shadow(self.rng.normal(size=2)))
        self.pos = self.rng.normal(size=2)
        self.vel = np.zeros(2)
        self.t = 0
        return self.obs()

    def obs(self):
        return np.concatenate([self.pos, self.vel])

    def step(self, force):
        self.vel = 0.9 * self.vel + 0.1 * np.clip(force, -1, 1)
        self.pos = self.pos + self.vel
        for each in self.listeners:
            each.notify(self.pos)
        self.t += 1
        return self.obs(), -float(np.hypot(*self.pos)), self.t >= 60


# %%
world = Beacon()
mean = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2))
base = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
opt = torch.optim.Adam([*mean.parameters(), *base.parameters()], lr=3e-3, fused=True)
history = []

# %% train
t0 = time.process_time()
for ep in range(EPISODES):
    o, done = world.reset(), False
    os_, as_, rs = [], [], []
    while not done:
        with torch.no_grad():
            m = mean(torch.as_tensor(o, dtype=torch.float32)).numpy()
        a = m + 0.3 * world.rng.normal(size=2)
        os_.append(o)
        as_.append(a)
        o, r, done = world.step(a)
        rs.append(r)
    ret, g = np.zeros(len(rs)), 0.0
    for t in range(len(rs) - 1, -1, -1):
        g = rs[t] + 0.97 * g
        ret[t] = g
    O = torch.as_tensor(np.array(os_), dtype=torch.float32)
    A = torch.as_tensor(np.array(as_), dtype=torch.float32)
    G = torch.as_tensor(ret, dtype=torch.float32)
    v = base(O).squeeze(-1)
    logp = -(((A - mean(O)) / 0.3) ** 2).sum(-1) / 2
    loss = -(logp * (G - v.detach())).mean() + 0.5 * ((G - v) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    history.append(sum(rs))
    if ep % 50 == 0:
        print(ep, round(history[-1], 1))

# %%
print(f"cpu {time.process_time() - t0:.2f} work {EPISODES * 60}")
