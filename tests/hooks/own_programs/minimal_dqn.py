# ruff: noqa  (a program as people write them, kept as it is)
import collections
import random
import sys

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)
random.seed(0)


class ReplayBuffer:
    def __init__(self):
        self.buffer = collections.deque(maxlen=50000)

    def put(self, transition):
        self.buffer.append(transition)

    def sample(self, n):
        b = random.sample(self.buffer, n)
        s, a, r, s2, d = [], [], [], [], []
        for x in b:
            s.append(x[0])
            a.append([x[1]])
            r.append([x[2]])
            s2.append(x[3])
            d.append([x[4]])
        return (
            torch.tensor(np.array(s)),
            torch.tensor(a),
            torch.tensor(r),
            torch.tensor(np.array(s2)),
            torch.tensor(d),
        )

    def size(self):
        return len(self.buffer)


class Qnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 128)
        self.fc2 = nn.Linear(128, 2)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))

    def sample_action(self, obs, epsilon):
        out = self.forward(obs)
        return random.randint(0, 1) if random.random() < epsilon else out.argmax().item()


def train(q, q_target, memory, optimizer):
    for i in range(10):
        s, a, r, s2, d = memory.sample(32)
        q_a = q(s).gather(1, a)
        m = q_target(s2).max(1)[0].unsqueeze(1)
        loss = F.smooth_l1_loss(q_a, r + 0.98 * m * d)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    env = gym.make("CartPole-v1")
    q = Qnet()
    qt = Qnet()
    qt.load_state_dict(q.state_dict())
    memory = ReplayBuffer()
    opt = optim.Adam(q.parameters(), lr=5e-4)
    steps = ups = 0
    for ep in range(int(sys.argv[1])):
        s, _ = env.reset(seed=ep)
        done = False
        while not done:
            a = q.sample_action(torch.from_numpy(s).float(), 0.1)
            s2, r, t, tr, _ = env.step(a)
            done = t or tr
            memory.put((s, a, r / 100.0, s2, 0.0 if done else 1.0))
            s = s2
            steps += 1
        if memory.size() > 200:
            train(q, qt, memory, opt)
            ups += 10
        if ep % 20 == 0:
            qt.load_state_dict(q.state_dict())
    print(steps, ep + 1, ups, float(q.fc1.weight.detach().sum()))


main()
