# ruff: noqa  (a program as people write them, kept as it is)
"""Every hand-written part, each with a busy loop of its own length: `busy_parts.py step=0.001`."""

import random
import sys
import time

import numpy as np

BUSY = {name: float(value) for name, value in (a.split("=") for a in sys.argv[1:])}
STEPS = 300


SPENT = 0.0


def busy(name):
    global SPENT
    if name not in BUSY:
        return
    begin = time.perf_counter()
    while time.perf_counter() < begin + BUSY[name]:
        pass
    # On a machine with other work a loop takes longer than it was asked to.
    SPENT += time.perf_counter() - begin


class Track:
    def reset(self):
        self.t = 0
        busy("reset")
        return 0.0

    def step(self, action):
        self.t += 1
        busy("step")
        return float(action), 1.0, self.t >= 50, {}

    def render(self):
        busy("render")


class Memory:
    def __init__(self, capacity):
        self.capacity, self.rows = capacity, []

    def __len__(self):
        return len(self.rows)

    def push(self, *row):
        busy("push")
        self.rows.append(row)

    def sample(self, n):
        busy("sample")
        return random.sample(self.rows, n)


class Learner:
    def __init__(self):
        self.value = 0.0

    def select_action(self, state):
        busy("act")
        return 1

    def update(self, batch):
        busy("learn")
        self.value += len(batch)


class RunLogger:
    def record(self, value):
        busy("log")


def compute_gae(rewards, values, dones, gamma=0.99):
    busy("advantage")
    return np.cumsum(rewards) * gamma


def evaluate_agent(agent):
    env = Track()
    env.reset()
    for _ in range(5):
        env.step(agent.select_action(0.0))
    busy("evaluate")


def main():
    env, memory, agent, logger = Track(), Memory(1000), Learner(), RunLogger()
    state = env.reset()
    for i in range(STEPS):
        action = agent.select_action(state)
        following, reward, done, _ = env.step(action)
        memory.push(state, action, reward, following, done)
        state = env.reset() if done else following
        if len(memory) >= 16:
            agent.update(memory.sample(16))
        if i % 10 == 0:
            compute_gae(np.ones(5), np.ones(5), np.zeros(5))
            logger.record(i)
            env.render()
        if i == 200:
            evaluate_agent(agent)
    print(SPENT)


if __name__ == "__main__":
    main()
