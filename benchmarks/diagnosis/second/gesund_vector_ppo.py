"""Healthy: PPO over 64 array environments in one process, a fused optimizer, no validation."""

# plants: nothing
import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
torch.distributions.Distribution.set_default_validate_args(False)
N, T = 64, 64


class Carts:
    def reset(self):
        self.x = np.random.uniform(-0.05, 0.05, (N, 4)).astype(np.float32)
        return self.x.copy()

    def step(self, action):
        x, v, angle, spin = self.x.T
        force = np.where(action == 1, 10.0, -10.0)
        turn = (9.8 * np.sin(angle) - np.cos(angle) * force / 1.1) / 0.65
        self.x = np.stack(
            [x + 0.02 * v, v + 0.02 * force / 1.1, angle + 0.02 * spin, spin + 0.02 * turn], 1
        ).astype(np.float32)
        over = (np.abs(self.x[:, 0]) > 2.4) | (np.abs(self.x[:, 2]) > 0.21)
        self.x[over] = np.random.uniform(-0.05, 0.05, (over.sum(), 4))
        return self.x.copy(), np.ones(N, np.float32), over


envs = Carts()
actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
critic = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], 3e-4, fused=True)
obs = torch.from_numpy(envs.reset())
for _update in range(40):
    o, a, p, r, d = (
        torch.zeros(T, N, 4),
        torch.zeros(T, N, dtype=torch.long),
        torch.zeros(T, N),
        torch.zeros(T, N),
        torch.zeros(T, N),
    )
    for t in range(T):
        with torch.no_grad():
            policy = torch.distributions.Categorical(logits=actor(obs))
            act = policy.sample()
        o[t], a[t], p[t] = obs, act, policy.log_prob(act)
        following, reward, over = envs.step(act.numpy())
        r[t], d[t] = torch.from_numpy(reward), torch.from_numpy(over.astype(np.float32))
        obs = torch.from_numpy(following)
    with torch.no_grad():
        v = critic(o)[..., 0]
        ret, run = torch.zeros(T, N), critic(obs)[:, 0]
        for t in reversed(range(T)):
            run = r[t] + 0.99 * run * (1 - d[t])
            ret[t] = run
        adv = (ret - v).flatten()
    o, a, p, ret = o.flatten(0, 1), a.flatten(), p.flatten(), ret.flatten()
    for _ in range(4):
        for k in torch.randperm(T * N).split(512):
            ratio = (
                torch.distributions.Categorical(logits=actor(o[k])).log_prob(a[k]) - p[k]
            ).exp()
            loss = -torch.min(ratio * adv[k], ratio.clamp(0.8, 1.2) * adv[k]).mean()
            loss = loss + (critic(o[k])[:, 0] - ret[k]).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
