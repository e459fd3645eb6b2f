# plants: anomaly-mode @ torch.autograd.set_detect_anomaly(
"""Twin-critic TD3 on a two-joint arm, with the debugging switch of last week still on."""

import argparse
import copy
import time

import numpy as np
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true")
parser.add_argument("--seconds", type=float, default=7.0)
args = parser.parse_args()
torch.set_num_threads(1)
torch.manual_seed(0)


class Arm:
    def __init__(self):
        self.rng = np.random.default_rng(0)
        self.reset()

    def reset(self):
        self.q, self.dq = self.rng.uniform(-np.pi, np.pi, 2), np.zeros(2)
        radius, angle = self.rng.uniform(0.3, 1.8), self.rng.uniform(-np.pi, np.pi)
        self.goal, self.t = radius * np.array([np.cos(angle), np.sin(angle)]), 0
        return self.state()

    def state(self):
        return np.concatenate([np.cos(self.q), np.sin(self.q), self.dq, self.goal]).astype(
            np.float32
        )

    def step(self, torque):
        self.dq = np.clip(0.95 * self.dq + 0.2 * torque, -3, 3)
        self.q = self.q + 0.05 * self.dq
        joint = np.array([np.cos(self.q[0]), np.sin(self.q[0])])
        hand = joint + np.array([np.cos(self.q.sum()), np.sin(self.q.sum())])
        self.t += 1
        return self.state(), -float(np.linalg.norm(hand - self.goal)), self.t >= 100


def mlp(inputs, outputs, last=None):
    layers = [
        nn.Linear(inputs, 128),
        nn.ReLU(),
        nn.Linear(128, 128),
        nn.ReLU(),
        nn.Linear(128, outputs),
    ]
    return nn.Sequential(*layers, last) if last else nn.Sequential(*layers)


torch.autograd.set_detect_anomaly(not args.fixed)
env = Arm()
actor, critic1, critic2 = mlp(8, 2, nn.Tanh()), mlp(10, 1), mlp(10, 1)
targets = [copy.deepcopy(m) for m in (actor, critic1, critic2)]
actor_optimizer = torch.optim.Adam(actor.parameters(), 3e-4, fused=True)
critic_optimizer = torch.optim.Adam(
    [*critic1.parameters(), *critic2.parameters()], 3e-4, fused=True
)
store = {k: np.zeros((20000, n), np.float32) for k, n in {"s": 8, "a": 2, "r": 1, "n": 8}.items()}
state, steps, start = env.reset(), 0, time.perf_counter()
while time.perf_counter() - start < args.seconds:
    with torch.no_grad():
        action = (actor(torch.from_numpy(state)) + 0.1 * torch.randn(2)).clamp(-1, 1).numpy()
    after, reward, done = env.step(action)
    at = steps % 20000
    store["s"][at], store["a"][at], store["r"][at], store["n"][at] = state, action, reward, after
    state = env.reset() if done else after
    steps += 1
    if steps < 256:
        continue
    rows = np.random.randint(0, min(steps, 20000), 128)
    s, a, r, n = (torch.from_numpy(store[k][rows]) for k in "sarn")
    with torch.no_grad():
        noise = (0.2 * torch.randn_like(a)).clamp(-0.5, 0.5)
        following = torch.cat([n, (targets[0](n) + noise).clamp(-1, 1)], 1)
        goal = r + 0.98 * torch.min(targets[1](following), targets[2](following))
    both = torch.cat([s, a], 1)
    loss = (critic1(both) - goal).pow(2).mean() + (critic2(both) - goal).pow(2).mean()
    critic_optimizer.zero_grad()
    loss.backward()
    critic_optimizer.step()
    if steps % 2 == 0:
        actor_loss = -critic1(torch.cat([s, actor(s)], 1)).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()
        for target, source in zip(targets, (actor, critic1, critic2), strict=True):
            with torch.no_grad():
                torch._foreach_lerp_(list(target.parameters()), list(source.parameters()), 0.005)
print(f"{steps / (time.perf_counter() - start):.1f} steps/s")
