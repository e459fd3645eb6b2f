# ruff: noqa  (a program as people write them, kept as it is)
import numpy as np
import torch
import torch.nn as nn

from .memory import Memory


class Agent:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 4))
        self.opt = torch.optim.SGD(self.net.parameters(), 1e-3)
        self.memory = Memory(5000, 4)
        self.updates = 0

    def choose_action(self, s, eps=0.2):
        if np.random.rand() < eps:
            return np.random.randint(4)
        with torch.no_grad():
            return int(self.net(torch.from_numpy(s)[None]).argmax())

    def store_transition(self, *t):
        self.memory.store(*t)

    def learn(self):
        if len(self.memory) < 64:
            return
        b = torch.from_numpy(self.memory.sample(64))
        s, a, r, d, s2 = b[:, :4], b[:, 4].long(), b[:, 5], b[:, 6], b[:, 7:]
        q = self.net(s).gather(1, a[:, None])[:, 0]
        with torch.no_grad():
            y = r + 0.99 * (1 - d) * self.net(s2).max(1).values
        loss = ((q - y) ** 2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.updates += 1
