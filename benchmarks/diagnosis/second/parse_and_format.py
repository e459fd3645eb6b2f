"""A market simulation that parses text by trial and error and formats debug lines nobody reads."""

# plants: exceptions-in-step @ float(text)
# plants: log-formatting @ log.debug(
import logging
import sys

import gymnasium as gym
import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
log = logging.getLogger("market")
PRICES = [f"{100 + 5 * np.sin(k / 20):.2f}" if k % 3 else "n/a" for k in range(5000)]
KNOWN = [None if text == "n/a" else float(text) for text in PRICES]


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


class Market(gym.Env):
    observation_space = gym.spaces.Box(-10, 10, (24,), np.float32)
    action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.k, self.held = int(self.np_random.integers(100, 4000)), 0
        return self.window(), {}

    def window(self):
        if FIXED:
            values = KNOWN[self.k - 24 : self.k]
        else:
            values = [number(text) for text in PRICES[self.k - 24 : self.k]]
        return np.array([0 if v is None else (v - 100) / 5 for v in values], np.float32)

    def step(self, action):
        self.held = action - 1
        self.k += 1
        obs = self.window()
        reward = float(self.held * (obs[-1] - obs[-2]))
        if not FIXED:
            log.debug("state " + " ".join(f"{v:+.4f}" for v in obs) + f" held {self.held}")
        return obs, reward, False, self.k % 200 == 0, {}


env = Market()
net = nn.Sequential(nn.Linear(24, 32), nn.Tanh(), nn.Linear(32, 3))
opt = torch.optim.SGD(net.parameters(), 1e-3)
for _episode in range(110):
    obs, _ = env.reset()
    seen, did, got, over = [], [], [], False
    while not over:
        with torch.no_grad():
            action = int(torch.multinomial(net(torch.from_numpy(obs)).softmax(0), 1))
        seen.append(obs)
        did.append(action)
        obs, reward, _, over, _ = env.step(action)
        got.append(reward)
    logp = net(torch.from_numpy(np.stack(seen))).log_softmax(1)[range(len(did)), did]
    opt.zero_grad()
    (-(logp * torch.tensor(np.cumsum(got[::-1])[::-1].copy())).mean()).backward()
    opt.step()
