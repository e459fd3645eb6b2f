# ruff: noqa  (a program as people write them, kept as it is)
"""The DQN tutorial, one file."""

import math
import random
import sys
from collections import deque, namedtuple

import gymnasium as gym
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(0)
random.seed(0)
env = gym.make("CartPole-v1")
Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque(maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.l1 = nn.Linear(n, 128)
        self.l2 = nn.Linear(128, 128)
        self.l3 = nn.Linear(128, m)

    def forward(self, x):
        return self.l3(F.relu(self.l2(F.relu(self.l1(x)))))


policy_net = DQN(4, 2)
target_net = DQN(4, 2)
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.AdamW(policy_net.parameters(), lr=1e-4, amsgrad=True)
memory = ReplayMemory(10000)
steps_done = 0
updates = 0


def select_action(state):
    global steps_done
    eps = 0.05 + 0.85 * math.exp(-steps_done / 500)
    steps_done += 1
    if random.random() > eps:
        with torch.no_grad():
            return policy_net(state).max(1).indices.view(1, 1)
    return torch.tensor([[random.randrange(2)]], dtype=torch.long)


def optimize_model():
    global updates
    if len(memory) < 128:
        return
    batch = Transition(*zip(*memory.sample(128)))
    mask = torch.tensor(tuple(s is not None for s in batch.next_state), dtype=torch.bool)
    nxt = torch.cat([s for s in batch.next_state if s is not None])
    q = policy_net(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
    v = torch.zeros(128)
    with torch.no_grad():
        v[mask] = target_net(nxt).max(1).values
    loss = nn.SmoothL1Loss()(q, (v * 0.99 + torch.cat(batch.reward)).unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    updates += 1


episodes = steps = 0
while steps < int(sys.argv[1]):
    state, _ = env.reset(seed=steps)
    state = torch.tensor(state).unsqueeze(0)
    done = False
    while not done:
        action = select_action(state)
        obs, reward, term, trunc, _ = env.step(action.item())
        done = term or trunc
        steps += 1
        nxt = None if term else torch.tensor(obs).unsqueeze(0)
        memory.push(state, action, nxt, torch.tensor([reward]))
        state = nxt
        optimize_model()
        t = target_net.state_dict()
        p = policy_net.state_dict()
        for k in p:
            t[k] = p[k] * 0.005 + t[k] * 0.995
        target_net.load_state_dict(t)
    episodes += 1
print(steps, episodes, updates, float(policy_net.l1.weight.sum()))
