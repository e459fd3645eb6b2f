# plants: per-item-buffer-push @ for i in range(self.n_envs):
"""Soft actor-critic on 128 point-mass arms simulated together, own replay buffer."""

import argparse
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
p = argparse.ArgumentParser()
p.add_argument("--fixed", action="store_true")
p.add_argument("--vector-steps", type=int, default=4600)
p.add_argument("--n-envs", type=int, default=128)
args = p.parse_args()


class ReachBatch:
    obs_dim, act_dim = 6, 2

    def __init__(self, n, seed):
        self.n, self.rng = n, np.random.default_rng(seed)
        self.pos = self.rng.uniform(-1, 1, (n, 2))
        self.vel = np.zeros((n, 2))
        self.goal = self.rng.uniform(-1, 1, (n, 2))
        self.t = self.rng.integers(0, 50, n)

    def observe(self):
        return np.concatenate([self.pos, self.vel, self.goal], 1).astype(np.float32)

    def step(self, act):
        self.vel = 0.9 * self.vel + 0.1 * act
        self.pos = np.clip(self.pos + 0.2 * self.vel, -1.5, 1.5)
        dist = np.linalg.norm(self.pos - self.goal, axis=1)
        rew = (-dist - 0.01 * (act**2).sum(1)).astype(np.float32)
        nxt = self.observe()
        self.t += 1
        over = self.t >= 50
        k = int(over.sum())
        if k:
            self.pos[over] = self.rng.uniform(-1, 1, (k, 2))
            self.goal[over] = self.rng.uniform(-1, 1, (k, 2))
            self.vel[over], self.t[over] = 0, 0
        return nxt, rew, np.zeros(self.n, np.float32), self.observe()


class ReplayBuffer:
    def __init__(self, capacity, obs_dim, act_dim, n_envs):
        self.obs = np.zeros((capacity, obs_dim), np.float32)
        self.nxt = np.zeros((capacity, obs_dim), np.float32)
        self.act = np.zeros((capacity, act_dim), np.float32)
        self.rew = np.zeros(capacity, np.float32)
        self.done = np.zeros(capacity, np.float32)
        self.capacity, self.n_envs, self.ptr, self.size = capacity, n_envs, 0, 0

    def store(self, o, a, r, n, d):
        self.obs[self.ptr] = np.array(o).copy()
        self.act[self.ptr] = np.array(a).copy()
        self.rew[self.ptr] = r
        self.nxt[self.ptr] = np.array(n).copy()
        self.done[self.ptr] = d
        self.ptr = (self.ptr + 1) % self.capacity
        self.size = min(self.size + 1, self.capacity)

    def extend(self, o, a, r, n, d):
        if args.fixed:
            s = slice(self.ptr, self.ptr + self.n_envs)
            self.obs[s], self.act[s], self.rew[s], self.nxt[s], self.done[s] = o, a, r, n, d
            self.ptr = (self.ptr + self.n_envs) % self.capacity
            self.size = min(self.size + self.n_envs, self.capacity)
            return
        for i in range(self.n_envs):
            self.store(o[i], a[i], r[i], n[i], d[i])

    def sample(self, k, rng):
        i = rng.integers(0, self.size, k)
        return [torch.from_numpy(x[i]) for x in (self.obs, self.act, self.rew, self.nxt, self.done)]


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, o))


def sample_action(actor, obs):
    mu, log_std = actor(obs).chunk(2, -1)
    std = log_std.clamp(-4, 1).exp()
    eps = torch.randn_like(mu)
    u = mu + std * eps
    a = torch.tanh(u)
    logp = (-0.5 * eps**2 - std.log() - 0.919 - torch.log(1 - a**2 + 1e-6)).sum(-1)
    return a, logp


def main():
    torch.manual_seed(0)
    env, rng = ReachBatch(args.n_envs, 0), np.random.default_rng(1)
    actor, q = mlp(6, 4), nn.ModuleList([mlp(8, 1), mlp(8, 1)])
    qt = nn.ModuleList([mlp(8, 1), mlp(8, 1)])
    qt.load_state_dict(q.state_dict())
    src, dst = list(q.parameters()), list(qt.parameters())
    opt_a = torch.optim.Adam(actor.parameters(), 1e-3, fused=True)
    opt_q = torch.optim.Adam(q.parameters(), 1e-3, fused=True)
    buf = ReplayBuffer(128 * 800, 6, 2, args.n_envs)
    obs, curve = env.observe(), []
    t0 = time.perf_counter()
    for step in range(args.vector_steps):
        with torch.no_grad():
            act = sample_action(actor, torch.from_numpy(obs))[0].numpy()
        nxt, rew, done, cur = env.step(act)
        buf.extend(obs, act, rew, nxt, done)
        obs = cur
        curve.append(rew.mean())
        if step < 10 or step % 4:
            continue
        o, a, r, n, d = buf.sample(256, rng)
        with torch.no_grad():
            na, nlp = sample_action(actor, n)
            x = torch.cat([n, na], 1)
            y = r + 0.95 * (1 - d) * (torch.min(qt[0](x), qt[1](x))[:, 0] - 0.02 * nlp)
        x = torch.cat([o, a], 1)
        loss_q = F.mse_loss(q[0](x)[:, 0], y) + F.mse_loss(q[1](x)[:, 0], y)
        opt_q.zero_grad()
        loss_q.backward()
        opt_q.step()
        pa, lp = sample_action(actor, o)
        x = torch.cat([o, pa], 1)
        loss_a = (0.02 * lp - torch.min(q[0](x), q[1](x))[:, 0]).mean()
        opt_a.zero_grad()
        loss_a.backward()
        opt_a.step()
        with torch.no_grad():
            torch._foreach_lerp_(dst, src, 0.01)
    took = time.perf_counter() - t0
    print(f"steps {args.vector_steps * args.n_envs} loop_s {took:.3f} return {np.mean(curve[-50:]):.3f}")


main()
