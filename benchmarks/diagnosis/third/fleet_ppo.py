# PPO, single file. 32 delivery drones with 40 range sensors each.

# plants: list-to-tensor @ x = torch.from_numpy(np.stack(rows)) if "a" in args.fixed else torch.tensor(rows)
# plants: python-gae @ run = delta + gamma * lam * (1 - done[t, n]) * run
import argparse
import random
import time

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

RAYS = 40


class Drone(gym.Env):
    def __init__(self):
        self.observation_space = gym.spaces.Box(-5, 5, (RAYS + 4,), np.float32)
        self.action_space = gym.spaces.Discrete(5)
        self.angles = np.linspace(0, 2 * np.pi, RAYS, endpoint=False)
        self.unit = np.stack([np.cos(self.angles), np.sin(self.angles)], 1)

    def _obs(self):
        d = self.blocks - self.p
        along = self.unit @ d.T
        off = (d * d).sum(1) - along**2
        hit = np.where((off < 0.04) & (along > 0), along, 3.0).min(1)
        return np.concatenate([hit, self.v, self.goal - self.p]).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.p, self.goal = self.np_random.uniform(-2, 2, (2, 2))
        self.blocks = self.np_random.uniform(-2, 2, (6, 2))
        self.v = np.zeros(2)
        self.t = 0
        return self._obs(), {}

    def step(self, a):
        push = np.array([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)][int(a)])
        self.v = 0.9 * self.v + 0.05 * push
        self.p = np.clip(self.p + self.v, -2.5, 2.5)
        self.t += 1
        dist = float(np.hypot(*(self.goal - self.p)))
        crash = float((((self.blocks - self.p) ** 2).sum(1) < 0.04).any())
        return self._obs(), -0.1 * dist - crash, dist < 0.15, self.t >= 200, {}


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(RAYS + 4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.pi, self.v = nn.Linear(64, 5), nn.Linear(64, 1)

    def forward(self, x):
        h = self.body(x)
        return F.log_softmax(self.pi(h), -1), self.v(h).squeeze(-1)


def advantages_loop(rew, val, done, last, gamma, lam):
    T, N = rew.shape
    adv = torch.zeros(T, N)
    for n in range(N):
        run = 0.0
        for t in range(T - 1, -1, -1):
            nxt = last[n] if t == T - 1 else val[t + 1, n]
            delta = rew[t, n] + gamma * nxt * (1 - done[t, n]) - val[t, n]
            run = delta + gamma * lam * (1 - done[t, n]) * run
            adv[t, n] = run
    return adv


def advantages_rows(rew, val, done, last, gamma, lam):
    adv, run = torch.zeros_like(rew), torch.zeros(rew.shape[1])
    keep = 1 - done
    delta = rew + gamma * torch.vstack([val[1:], last[None]]) * keep - val
    for t in range(len(rew) - 1, -1, -1):
        adv[t] = run = delta[t] + gamma * lam * keep[t] * run
    return adv


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=85000)
    ap.add_argument("--fixed", nargs="?", const="ab", default="")
    args = ap.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    N, T, MB, EPOCHS = 32, 64, 512, 10
    envs = gym.vector.SyncVectorEnv([Drone] * N)
    net = ActorCritic()
    opt = torch.optim.Adam(net.parameters(), lr=3e-4, fused=True)
    obs, _ = envs.reset(seed=0)
    step = it = 0
    start = time.perf_counter()
    while step < args.steps:
        batch_obs, batch_act, batch_lp = [], [], []
        rew, val, done = (torch.zeros(T, N) for _ in range(3))
        for t in range(T):
            with torch.no_grad():
                lp, v = net(torch.from_numpy(obs))
                a = (lp - torch.empty_like(lp).exponential_().log()).argmax(-1)
            batch_obs.extend(obs.copy())
            batch_act.extend(a.tolist())
            batch_lp.extend(lp.gather(1, a[:, None])[:, 0].tolist())
            obs, r, term, trunc, _ = envs.step(a.numpy())
            rew[t], done[t], val[t] = torch.from_numpy(r), torch.from_numpy(term | trunc), v
            step += N
        with torch.no_grad():
            last = net(torch.from_numpy(obs))[1]
        gae = advantages_rows if "b" in args.fixed else advantages_loop
        adv = gae(rew, val, done, last, 0.99, 0.95)
        ret = (adv + val).reshape(-1)
        adv = adv.reshape(-1)
        acts, lps = torch.tensor(batch_act), torch.tensor(batch_lp)
        idx = list(range(N * T))
        for _ in range(EPOCHS):
            random.shuffle(idx)
            for k in range(0, N * T, MB):
                mb = idx[k : k + MB]
                rows = [batch_obs[i] for i in mb]
                x = torch.from_numpy(np.stack(rows)) if "a" in args.fixed else torch.tensor(rows)
                lp, v = net(x)
                new = lp.gather(1, acts[mb][:, None])[:, 0]
                A = adv[mb]
                A = (A - A.mean()) / (A.std() + 1e-8)
                ratio = (new - lps[mb]).exp()
                pg = -torch.min(ratio * A, ratio.clamp(0.8, 1.2) * A).mean()
                loss = pg + 0.5 * F.mse_loss(v, ret[mb]) + 0.01 * (lp.exp() * lp).sum(-1).mean()
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 0.5)
                opt.step()
        it += 1
        if it % 5 == 0:
            print(step, "reward", round(float(rew.mean()), 4))
    print(f"loop_s {time.perf_counter() - start:.3f} steps {step}")
