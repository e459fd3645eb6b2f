# ruff: noqa  (a program as people write them, kept as it is)
"""Tabular."""

import random
from collections import defaultdict

import numpy as np


class GridWorld:
    def __init__(self, size=8):
        self.size = size
        self.reset()

    def reset(self):
        self.pos = (0, 0)
        return self.pos

    def step(self, action):
        dx, dy = [(0, 1), (1, 0), (0, -1), (-1, 0)][action]
        x = min(max(self.pos[0] + dx, 0), self.size - 1)
        y = min(max(self.pos[1] + dy, 0), self.size - 1)
        self.pos = (x, y)
        np.linalg.norm(np.random.rand(30, 30))
        done = self.pos == (self.size - 1, self.size - 1)
        return self.pos, (1.0 if done else -0.01), done


class QLearning:
    def __init__(self):
        self.q = defaultdict(lambda: np.zeros(4))

    def choose_action(self, state):
        if random.random() < 0.1:
            return random.randrange(4)
        return int(np.argmax(self.q[state]))

    def update(self, s, a, r, s2, done):
        target = r + (0 if done else 0.99 * np.max(self.q[s2]))
        self.q[s][a] += 0.1 * (target - self.q[s][a])


def main():
    env = GridWorld()
    agent = QLearning()
    steps = episodes = 0
    for ep in range(300):
        s = env.reset()
        done = False
        while not done:
            a = agent.choose_action(s)
            s2, r, done = env.step(a)
            agent.update(s, a, r, s2, done)
            s = s2
            steps += 1
        episodes += 1
    print(steps, episodes)


if __name__ == "__main__":
    main()
