"""A storage battery traded on a data frame, and a long evaluation after each small update."""

# plants: pandas-in-step @ self.frame.iloc[
# plants: evaluation @ score =
import sys

import gymnasium as gym
import numpy as np
import pandas as pd
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
table = pd.DataFrame({c: np.sin(np.arange(4000) / k) for k, c in enumerate("abcdef", 3)})


class Battery(gym.Env):
    observation_space = gym.spaces.Box(-5, 5, (7,), np.float32)
    action_space = gym.spaces.Discrete(3)

    def __init__(self):
        self.frame, self.numbers = table, table.to_numpy(np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.k, self.level = int(self.np_random.integers(0, 3500)), 0.5
        return self.look(), {}

    def look(self):
        row = self.numbers[self.k] if FIXED else self.frame.iloc[self.k].to_numpy(np.float32)
        return np.append(row, np.float32(self.level))

    def step(self, action):
        price = self.numbers[self.k, 0] if FIXED else self.frame.iloc[self.k]["a"]
        self.level = min(max(self.level + 0.1 * (action - 1), 0.0), 1.0)
        self.k += 1
        return self.look(), float(-(action - 1) * price), False, self.k % 100 == 0, {}


def play(env, net, steps):
    obs, rows, total = env.reset()[0], [], 0.0
    for _ in range(steps):
        with torch.no_grad():
            action = int(
                torch.distributions.Categorical(logits=net(torch.from_numpy(obs))).sample()
            )
        after, reward, _, over, _ = env.step(action)
        rows.append((obs, action, reward))
        total += reward
        obs = env.reset()[0] if over else after
    return rows, total


def evaluate(env, net):
    return play(env, net, 150)[1]


env, test, net = Battery(), Battery(), nn.Sequential(nn.Linear(7, 32), nn.Tanh(), nn.Linear(32, 3))
opt = torch.optim.SGD(net.parameters(), 1e-3)
for update in range(50):
    rows, _ = play(env, net, 200)
    obs, action, reward = zip(*rows, strict=True)
    logp = net(torch.from_numpy(np.stack(obs))).log_softmax(1)[range(len(action)), action]
    opt.zero_grad()
    (-(logp * torch.tensor(reward)).mean()).backward()
    opt.step()
    if update % (25 if FIXED else 1) == 0:
        score = evaluate(test, net)
