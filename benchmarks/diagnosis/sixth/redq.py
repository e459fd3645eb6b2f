# plants: target-update-loop @ theirs = self.critic.state_dict()[key]
"""Ensemble-critic DDPG (5 critics) for a one-dimensional landing rocket."""

import sys
import time

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
OK = "--fixed" in sys.argv


class Rocket:
    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.h, self.v, self.fuel = self.rng.uniform(5, 10), self.rng.uniform(-1, 0), 1.0
        return self.obs()

    def obs(self):
        return np.array([self.h / 10, self.v / 3, self.fuel], np.float32)

    def step(self, thrust):
        burn = max(0.0, min(1.0, 0.5 + 0.5 * thrust)) * (self.fuel > 0)
        self.fuel -= 0.01 * burn
        self.v += 0.1 * (2 * burn - 1)
        self.h += 0.1 * self.v
        landed = self.h <= 0
        reward = -0.02 * abs(self.h / 10) - 0.01 * burn - (abs(self.v) if landed else 0.0)
        return self.obs(), reward, landed


class Critics(nn.Module):
    def __init__(self, n=5):
        super().__init__()
        self.w = nn.ParameterList([nn.Parameter(torch.randn(n, i, o) / i**0.5) for i, o in ((4, 64), (64, 64), (64, 1))])
        self.b = nn.ParameterList([nn.Parameter(torch.zeros(n, 1, o)) for o in (64, 64, 1)])

    def forward(self, x):
        x = x.expand(len(self.w[0]), *x.shape)
        for k in range(3):
            x = torch.baddbmm(self.b[k], x, self.w[k])
            x = x.relu() if k < 2 else x
        return x[..., 0]


class DDPG:
    def __init__(self):
        self.actor = self._actor()
        self.actor_t = self._actor()
        self.critic, self.critic_t = Critics(), Critics()
        self.actor_t.load_state_dict(self.actor.state_dict())
        self.critic_t.load_state_dict(self.critic.state_dict())
        self.oa = torch.optim.Adam(self.actor.parameters(), 1e-3, fused=True)
        self.oc = torch.optim.Adam(self.critic.parameters(), 1e-3, fused=True)
        self.live = [*self.actor.parameters(), *self.critic.parameters()]
        self.slow = [*self.actor_t.parameters(), *self.critic_t.parameters()]

    def _actor(self):
        return nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1), nn.Tanh())

    def learn(self, o, a, r, n, d):
        with torch.no_grad():
            y = r + 0.98 * (1 - d) * self.critic_t(torch.cat([n, self.actor_t(n)], 1)).min(0).values
        loss = (self.critic(torch.cat([o, a], 1)) - y).square().mean()
        self.oc.zero_grad()
        loss.backward()
        self.oc.step()
        gain = -self.critic(torch.cat([o, self.actor(o)], 1)).mean()
        self.oa.zero_grad()
        gain.backward()
        self.oa.step()
        self.track(0.01)

    def track(self, tau):
        if OK:
            with torch.no_grad():
                torch._foreach_lerp_(self.slow, self.live, tau)
            return
        for key in self.critic_t.state_dict():
            theirs = self.critic.state_dict()[key]
            mine = self.critic_t.state_dict()[key]
            self.critic_t.state_dict()[key].copy_(tau * theirs + (1 - tau) * mine)
        for key in self.actor_t.state_dict():
            theirs = self.actor.state_dict()[key]
            mine = self.actor_t.state_dict()[key]
            self.actor_t.state_dict()[key].copy_(tau * theirs + (1 - tau) * mine)


def main(total=3000):
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    env, agent = Rocket(rng), DDPG()
    mem = [np.zeros((total, k), np.float32) for k in (3, 1, 1, 3, 1)]
    o, age, score, scores = env.reset(), 0, 0.0, []
    t0 = time.perf_counter()
    for t in range(total):
        with torch.no_grad():
            a = float(agent.actor(torch.from_numpy(o))) + 0.2 * rng.normal()
        n, r, done = env.step(a)
        for arr, x in zip(mem, (o, a, r, n, float(done))):
            arr[t] = x
        o, age, score = n, age + 1, score + r
        if done or age == 200:
            scores.append(score)
            o, age, score = env.reset(), 0, 0.0
        if t > 100:
            i = rng.integers(0, t + 1, 64)
            b = [torch.from_numpy(arr[i]) for arr in mem]
            agent.learn(b[0], b[1], b[2][:, 0], b[3], b[4][:, 0])
    print(f"steps {total} loop_s {time.perf_counter() - t0:.3f} return {np.mean(scores[-10:]):.3f}")


main()
