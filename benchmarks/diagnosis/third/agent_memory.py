# plants: buffer-cost-grows @ return [torch.from_numpy(np.array(column)[idx]) for column in columns]
import argparse
import random
import time

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class QNetwork(nn.Module):
    def __init__(self, state_size, action_size, hidden=128):
        super().__init__()
        self.fc1 = nn.Linear(state_size, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, action_size)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class Memory:
    """Keeps the columns apart, so that a batch comes out as five arrays."""

    def __init__(self, capacity):
        self.capacity = capacity
        self.states, self.actions, self.rewards, self.next_states, self.dones = [], [], [], [], []

    def push(self, s, a, r, s2, d):
        if len(self.states) >= self.capacity:
            for column in (self.states, self.actions, self.rewards, self.next_states, self.dones):
                column.pop(0)
        self.states.append(s)
        self.actions.append(a)
        self.rewards.append(r)
        self.next_states.append(s2)
        self.dones.append(d)

    def sample(self, n):
        idx = np.random.randint(0, len(self.states), n)
        columns = (self.states, self.actions, self.rewards, self.next_states, self.dones)
        return [torch.from_numpy(np.array(column)[idx]) for column in columns]

    def __len__(self):
        return len(self.states)


class RingMemory:
    def __init__(self, capacity, state_size):
        self.capacity, self.size, self.head = capacity, 0, 0
        self.data = [
            np.zeros((capacity, state_size), np.float32),
            np.zeros(capacity, np.int64),
            np.zeros(capacity),
            np.zeros((capacity, state_size), np.float32),
            np.zeros(capacity, bool),
        ]

    def push(self, *transition):
        for column, x in zip(self.data, transition):
            column[self.head] = x
        self.head = (self.head + 1) % self.capacity
        self.size = min(self.size + 1, self.capacity)

    def sample(self, n):
        idx = np.random.randint(0, self.size, n)
        return [torch.from_numpy(column[idx]) for column in self.data]

    def __len__(self):
        return self.size


class Agent:
    def __init__(self, state_size, action_size, memory):
        self.action_size = action_size
        self.memory = memory
        self.local = QNetwork(state_size, action_size)
        self.target = QNetwork(state_size, action_size)
        self.target.load_state_dict(self.local.state_dict())
        self.optimizer = torch.optim.Adam(self.local.parameters(), lr=5e-4, fused=True)
        self.t = 0

    def act(self, state, eps):
        if random.random() < eps:
            return random.randrange(self.action_size)
        with torch.no_grad():
            return int(self.local(torch.from_numpy(state)).argmax())

    def step(self, *transition):
        self.memory.push(*transition)
        self.t += 1
        if self.t % 4 == 0 and len(self.memory) > 256:
            self.learn()
        if self.t % 500 == 0:
            self.target.load_state_dict(self.local.state_dict())

    def learn(self):
        s, a, r, s2, d = self.memory.sample(128)
        with torch.no_grad():
            best = self.local(s2).argmax(1, keepdim=True)
            goal = r.float() + 0.99 * self.target(s2).gather(1, best).squeeze(1) * (~d).float()
        q = self.local(s).gather(1, a.unsqueeze(1)).squeeze(1)
        loss = F.smooth_l1_loss(q, goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=12000)
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    env = gym.make("Acrobot-v1")
    n_obs, n_act = env.observation_space.shape[0], int(env.action_space.n)
    agent = Agent(n_obs, n_act, RingMemory(20000, n_obs) if args.fixed else Memory(20000))
    state, _ = env.reset(seed=0)
    score, scores = 0.0, []
    start = time.perf_counter()
    for i in range(args.steps):
        action = agent.act(state, max(0.05, 1 - 2 * i / args.steps))
        nxt, reward, term, trunc, _ = env.step(action)
        agent.step(state, action, float(reward), nxt, bool(term))
        state, score = nxt, score + reward
        if term or trunc:
            scores.append(score)
            score = 0.0
            state, _ = env.reset()
            print(f"step {i} score {np.mean(scores[-10:]):.1f}")
    print(f"loop_s {time.perf_counter() - start:.3f} steps {args.steps}")
