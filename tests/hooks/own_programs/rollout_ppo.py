# ruff: noqa  (a program as people write them, kept as it is)
"""PPO with a rollout storage."""

import sys

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data.sampler import BatchSampler, SubsetRandomSampler

torch.manual_seed(0)
np.random.seed(0)


class PointEnvs:
    def __init__(self, n):
        self.n = n

    def reset(self):
        self.x = np.random.randn(self.n, 6).astype(np.float32)
        self.t = np.zeros(self.n, int)
        return torch.from_numpy(self.x.copy())

    def step(self, actions):
        a = actions.numpy().reshape(-1)
        self.x += 0.1 * (a[:, None] - 1) + 0.02 * np.random.randn(self.n, 6).astype(np.float32)
        self.t += 1
        for _ in range(20):
            np.sort(np.random.randn(100))
        r = -np.abs(self.x).sum(1)
        d = self.t >= 40
        if d.any():
            self.x[d] = np.random.randn(int(d.sum()), 6)
            self.t[d] = 0
        return torch.from_numpy(self.x.copy()), torch.from_numpy(r).unsqueeze(1), d, [{}] * self.n


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Sequential(nn.Linear(6, 64), nn.Tanh())
        self.pi = nn.Linear(64, 3)
        self.v = nn.Linear(64, 1)

    def act(self, x):
        h = self.base(x)
        d = torch.distributions.Categorical(logits=self.pi(h))
        a = d.sample()
        return self.v(h), a.unsqueeze(1), d.log_prob(a).unsqueeze(1)

    def get_value(self, x):
        return self.v(self.base(x))

    def evaluate_actions(self, x, a):
        h = self.base(x)
        d = torch.distributions.Categorical(logits=self.pi(h))
        return self.v(h), d.log_prob(a.squeeze(1)).unsqueeze(1), d.entropy().mean()


class RolloutStorage:
    def __init__(self, T, N):
        self.obs = torch.zeros(T + 1, N, 6)
        self.rewards = torch.zeros(T, N, 1)
        self.value_preds = torch.zeros(T + 1, N, 1)
        self.returns = torch.zeros(T + 1, N, 1)
        self.logp = torch.zeros(T, N, 1)
        self.actions = torch.zeros(T, N, 1).long()
        self.masks = torch.ones(T + 1, N, 1)
        self.num_steps = T
        self.step = 0

    def insert(self, obs, actions, logp, values, rewards, masks):
        s = self.step
        self.obs[s + 1].copy_(obs)
        self.actions[s].copy_(actions)
        self.logp[s].copy_(logp)
        self.value_preds[s].copy_(values)
        self.rewards[s].copy_(rewards)
        self.masks[s + 1].copy_(masks)
        self.step = (s + 1) % self.num_steps

    def after_update(self):
        self.obs[0].copy_(self.obs[-1])
        self.masks[0].copy_(self.masks[-1])

    def compute_returns(self, next_value, gamma, lam):
        self.value_preds[-1] = next_value
        gae = 0
        for t in reversed(range(self.num_steps)):
            delta = (
                self.rewards[t]
                + gamma * self.value_preds[t + 1] * self.masks[t + 1]
                - self.value_preds[t]
            )
            gae = delta + gamma * lam * self.masks[t + 1] * gae
            self.returns[t] = gae + self.value_preds[t]

    def feed_forward_generator(self, advantages, n):
        size = advantages.numel()
        for idx in BatchSampler(SubsetRandomSampler(range(size)), size // n, drop_last=True):
            yield (
                self.obs[:-1].view(-1, 6)[idx],
                self.actions.view(-1, 1)[idx],
                self.logp.view(-1, 1)[idx],
                advantages.view(-1, 1)[idx],
                self.returns[:-1].view(-1, 1)[idx],
            )


class PPO:
    def __init__(self, ac):
        self.ac = ac
        self.optimizer = torch.optim.Adam(ac.parameters(), lr=3e-4)
        self.n = 0

    def update(self, rollouts):
        adv = rollouts.returns[:-1] - rollouts.value_preds[:-1]
        adv = (adv - adv.mean()) / (adv.std() + 1e-5)
        for e in range(4):
            for obs, a, lp, ad, ret in rollouts.feed_forward_generator(adv, 4):
                v, logp, ent = self.ac.evaluate_actions(obs, a)
                ratio = torch.exp(logp - lp)
                loss = (
                    -torch.min(ratio * ad, torch.clamp(ratio, 0.8, 1.2) * ad).mean()
                    + 0.5 * (ret - v).pow(2).mean()
                    - 0.01 * ent
                )
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.ac.parameters(), 0.5)
                self.optimizer.step()
                self.n += 1


def main():
    N, T = 8, 32
    envs = PointEnvs(N)
    ac = Policy()
    agent = PPO(ac)
    ro = RolloutStorage(T, N)
    ro.obs[0].copy_(envs.reset())
    eps = 0
    for j in range(int(sys.argv[1])):
        for s in range(T):
            with torch.no_grad():
                v, a, lp = ac.act(ro.obs[s])
            obs, r, d, infos = envs.step(a)
            eps += int(d.sum())
            ro.insert(obs, a, lp, v, r, torch.tensor([[0.0] if x else [1.0] for x in d]))
        with torch.no_grad():
            nv = ac.get_value(ro.obs[-1])
        ro.compute_returns(nv, 0.99, 0.95)
        agent.update(ro)
        ro.after_update()
    print(N * T * int(sys.argv[1]), eps, agent.n, float(ac.pi.weight.sum()))


if __name__ == "__main__":
    main()
