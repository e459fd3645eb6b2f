# plants: thread-oversubscription @ torch.set_num_threads(
"""Noisy distributional DQN, set up for the big server it once ran on."""

import sys
import time

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1 if "--fixed" in sys.argv else 16)
ATOMS, ACTIONS = 21, 3


class Distributional(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(24, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
        self.head = nn.Linear(256, ACTIONS * ATOMS)
        self.register_buffer("support", torch.linspace(-5, 5, ATOMS))

    def forward(self, x):
        return self.head(self.trunk(x)).view(-1, ACTIONS, ATOMS).log_softmax(-1)

    def value(self, x):
        return (self(x).exp() * self.support).sum(-1)


class Network:
    """Route packets through a ring of routers with queues."""

    def __init__(self, n=12, seed=0):
        self.rng, self.n = np.random.default_rng(seed), n
        self.queues, self.load = np.zeros(n), np.zeros(n)

    def observe(self):
        return np.concatenate([self.queues / 10, self.load]).astype(np.float32)

    def step(self, action):
        arriving = self.rng.poisson(0.4, self.n)
        shift = np.roll(self.queues, action - 1) * 0.2
        served = np.minimum(self.queues + arriving, 1.0)
        self.queues = np.clip(self.queues * 0.8 + shift + arriving - served, 0, 30)
        self.load = 0.9 * self.load + 0.1 * served
        return self.observe(), -float(self.queues.mean()) / 10


def project(logp, reward, support):
    """Categorical projection of reward + 0.95 z onto the support."""
    delta = support[1] - support[0]
    position = ((reward[:, None] + 0.95 * support).clamp(-5, 5) - support[0]) / delta
    low, high = position.floor().long(), position.ceil().long()
    p, out = logp.exp(), torch.zeros_like(logp)
    out.scatter_add_(1, low, p * (high - position + (low == high)))
    out.scatter_add_(1, high, p * (position - low))
    return out


def main():
    env, online, frozen = Network(), Distributional(), Distributional()
    optimizer = torch.optim.Adam(online.parameters(), 2.5e-4, fused=True)
    states, actions = np.zeros((5000, 24), np.float32), np.zeros(5000, np.int64)
    rewards, nexts = np.zeros(5000, np.float32), np.zeros((5000, 24), np.float32)
    obs, steps, start = env.observe(), 0, time.perf_counter()
    while time.perf_counter() - start < 7:
        with torch.no_grad():
            action = int(online.value(torch.from_numpy(obs)[None]).argmax())
        if np.random.random() < 0.05:
            action = np.random.randint(ACTIONS)
        after, reward = env.step(action)
        i = steps % 5000
        states[i], actions[i], rewards[i], nexts[i] = obs, action, reward, after
        obs = after
        steps += 1
        if steps > 200:
            rows = np.random.randint(0, min(steps, 5000), 64)
            s, a, r, n = (torch.from_numpy(x[rows]) for x in (states, actions, rewards, nexts))
            with torch.no_grad():
                best = online.value(n).argmax(1)
                goal = project(frozen(n)[torch.arange(64), best], r, online.support)
            loss = -(goal * online(s)[torch.arange(64), a]).sum(1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if steps % 500 == 0:
            frozen.load_state_dict(online.state_dict())
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s")


main()
