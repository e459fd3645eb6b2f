# plants: python-gae @ last = delta +
# plants: evaluation @ evaluate(actor, 200)
"""PPO on 32 vectorised tanks: advantages scalar by scalar (larger), a long evaluation per
update (smaller).
"""

import sys
import time

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
FIX1 = "--fixed" in sys.argv or "--fixed1" in sys.argv
FIX2 = "--fixed" in sys.argv or "--fixed2" in sys.argv
N, T = 32, 64


class Tanks:
    def __init__(self, n, seed=0):
        self.n, self.rng = n, np.random.default_rng(seed)
        self.level, self.goal = self.rng.random((n, 3)), self.rng.random((n, 3))
        self.age = self.rng.integers(0, 100, n)

    def observe(self):
        return np.concatenate([self.level, self.goal], 1).astype(np.float32)

    def step(self, action):
        flow = 0.1 * (np.eye(3)[action] - 0.3 * self.level)
        self.level = np.clip(self.level + flow + self.rng.normal(0, 0.01, (self.n, 3)), 0, 1)
        reward = -np.abs(self.level - self.goal).sum(1)
        self.age += 1
        done = self.age >= 100
        self.level[done], self.goal[done] = self.rng.random((2, int(done.sum()), 3))
        self.age[done] = 0
        return self.observe(), reward.astype(np.float32), done


def evaluate(actor, steps=60):
    envs, total = Tanks(4, seed=9), 0.0
    obs = envs.observe()
    for _ in range(steps):
        with torch.no_grad():
            action = actor(torch.from_numpy(obs)).argmax(1).numpy()
        obs, reward, _ = envs.step(action)
        total += float(reward.mean())
    return total / steps


def advantages(rewards, values, dones, bootstrap, gamma=0.99, lam=0.95):
    if FIX1:
        out, last, following = (
            np.zeros((T, N), np.float32),
            np.zeros(N, np.float32),
            bootstrap.numpy(),
        )
        for t in range(T - 1, -1, -1):
            alive = 1.0 - dones[t].numpy()
            delta = rewards[t].numpy() + gamma * following * alive - values[t].numpy()
            last = out[t] = delta + gamma * lam * alive * last
            following = values[t].numpy()
        return torch.from_numpy(out)
    result = torch.zeros(T, N)
    for env in range(N):
        last, following = 0.0, bootstrap[env]
        for t in range(T - 1, -1, -1):
            alive = 1.0 - dones[t, env]
            delta = rewards[t, env] + gamma * following * alive - values[t, env]
            last = delta + gamma * lam * alive * last
            result[t, env] = last
            following = values[t, env]
    return result


def main():
    envs = Tanks(N)
    actor = nn.Sequential(
        nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 3)
    )
    critic = nn.Sequential(
        nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)
    )
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], 3e-4, fused=True)
    obs, steps, start = envs.observe(), 0, time.perf_counter()
    while time.perf_counter() - start < 8:
        s, a, old = torch.zeros(T, N, 6), torch.zeros(T, N, dtype=torch.long), torch.zeros(T, N)
        r, v, d = torch.zeros(T, N), torch.zeros(T, N), torch.zeros(T, N)
        for t in range(T):
            s[t] = torch.from_numpy(obs)
            with torch.no_grad():
                logp, v[t] = actor(s[t]).log_softmax(-1), critic(s[t])[:, 0]
            a[t] = torch.multinomial(logp.exp(), 1)[:, 0]
            old[t] = logp.gather(1, a[t][:, None])[:, 0]
            obs, reward, done = envs.step(a[t].numpy())
            r[t], d[t] = torch.from_numpy(reward), torch.from_numpy(done)
            steps += N
        with torch.no_grad():
            adv = advantages(r, v, d, critic(torch.from_numpy(obs))[:, 0])
        s, a, old, adv, ret = (x.reshape(T * N, *x.shape[2:]) for x in (s, a, old, adv, adv + v))
        for _ in range(3):
            for rows in torch.randperm(T * N).split(512):
                ratio = (
                    actor(s[rows]).log_softmax(-1).gather(1, a[rows][:, None])[:, 0] - old[rows]
                ).exp()
                gain = torch.min(ratio * adv[rows], ratio.clamp(0.8, 1.2) * adv[rows]).mean()
                loss = (critic(s[rows])[:, 0] - ret[rows]).pow(2).mean() - gain
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        if not FIX2 or steps % (T * N * 50) == 0:
            evaluate(actor, 200)
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s")


main()
