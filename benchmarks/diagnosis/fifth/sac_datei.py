# plants: list-to-tensor @ columns = [torch.tensor(
# plants: target-update-loop @ old.data.copy_(
"""Soft actor-critic in one file: batches from lists of arrays (larger), soft updates tensor
by tensor (smaller).
"""

import copy
import random
import sys
import time
import warnings

import numpy as np
import torch
from torch import nn

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
FIX1 = "--fixed" in sys.argv or "--fixed1" in sys.argv
FIX2 = "--fixed" in sys.argv or "--fixed2" in sys.argv


class Glider:
    """Stay in a thermal; wind comes from a fixed field."""

    def __init__(self):
        rng = np.random.default_rng(3)
        self.centers, self.power = rng.uniform(-5, 5, (6, 2)), rng.uniform(0.5, 2, 6)

    def reset(self):
        self.p, self.v, self.h, self.t = np.random.uniform(-3, 3, 2), np.zeros(2), 3.0, 0
        return self.see()

    def see(self):
        return np.concatenate([self.p, self.v, [self.h], (self.centers - self.p).ravel()]).astype(
            np.float32
        )

    def step(self, action):
        self.v = 0.9 * self.v + 0.3 * action
        self.p = self.p + 0.2 * self.v
        lift = (self.power * np.exp(-((self.centers - self.p) ** 2).sum(1))).sum()
        self.h += 0.1 * (lift - 0.4)
        self.t += 1
        return self.see(), float(lift), self.h < 0 or self.t >= 200


def mlp(i, o):
    return nn.Sequential(
        nn.Linear(i, 64),
        nn.ReLU(),
        nn.Linear(64, 64),
        nn.ReLU(),
        nn.Linear(64, 64),
        nn.ReLU(),
        nn.Linear(64, o),
    )


class SAC:
    def __init__(self, states=17, actions=2):
        self.actor = mlp(states, 2 * actions)
        self.critics = nn.ModuleList([mlp(states + actions, 1), mlp(states + actions, 1)])
        self.targets = copy.deepcopy(self.critics)
        self.optimizer = torch.optim.Adam(
            [*self.actor.parameters(), *self.critics.parameters()], 3e-4, fused=True
        )
        self.memory = []

    def sample_action(self, s):
        mean, log_std = self.actor(s).chunk(2, -1)
        std = log_std.clamp(-5, 1).exp()
        raw = mean + std * torch.randn_like(mean)
        action = raw.tanh()
        logp = (-0.5 * ((raw - mean) / std) ** 2 - std.log() - (1 - action**2 + 1e-6).log()).sum(
            -1, keepdim=True
        )
        return action, logp

    def batch(self, size=128):
        rows = random.sample(self.memory, size)
        if FIX1:
            return [torch.from_numpy(np.array(c, np.float32)) for c in zip(*rows, strict=True)]
        columns = [torch.tensor(c, dtype=torch.float32) for c in zip(*rows, strict=True)]
        return columns

    def learn(self):
        s, a, r, n, d = self.batch()
        r, d = r[:, None], d[:, None]
        with torch.no_grad():
            following, logp = self.sample_action(n)
            x = torch.cat([n, following], 1)
            goal = r + 0.98 * (1 - d) * (torch.min(*(t(x) for t in self.targets)) - 0.1 * logp)
        x = torch.cat([s, a], 1)
        loss = sum((c(x) - goal).pow(2).mean() for c in self.critics)
        action, logp = self.sample_action(s)
        x = torch.cat([s, action], 1)
        loss = loss + (0.1 * logp - torch.min(*(c(x) for c in self.critics))).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        if FIX2:
            with torch.no_grad():
                torch._foreach_lerp_(
                    list(self.targets.parameters()), list(self.critics.parameters()), 0.005
                )
            return
        for old, new in zip(self.targets.parameters(), self.critics.parameters(), strict=True):
            old.data.copy_(0.995 * old.data + 0.005 * new.data)


def main():
    env, agent = Glider(), SAC()
    state, steps, start = env.reset(), 0, time.perf_counter()
    while time.perf_counter() - start < 8:
        with torch.no_grad():
            action = agent.sample_action(torch.from_numpy(state))[0].numpy()
        after, reward, done = env.step(action)
        agent.memory.append((state, action, reward, after, float(done)))
        state = env.reset() if done else after
        steps += 1
        if steps > 256:
            agent.learn()
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s")


main()
