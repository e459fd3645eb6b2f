# ruff: noqa  (a program as people write them, kept as it is)
import sys

import numpy as np
import torch
from rl.agent import Agent
from rl.env import Maze


def evaluate(agent, env, n=3):
    total = 0
    for _ in range(n):
        s = env.reset()
        done = False
        while not done:
            s, r, done, _ = env.step(agent.choose_action(s, 0))
            total += r
    return total / n


def main(episodes):
    np.random.seed(0)
    torch.manual_seed(0)
    env, agent = Maze(), Agent()
    steps = 0
    for ep in range(episodes):
        s = env.reset()
        done = False
        while not done:
            a = agent.choose_action(s)
            s2, r, done, _ = env.step(a)
            agent.store_transition(s, a, r, s2, done)
            agent.learn()
            s = s2
            steps += 1
        if ep % 10 == 9:
            evaluate(agent, Maze())
        if ep % 20 == 19:
            env.render()
    print(steps, episodes, agent.updates, float(agent.net[0].weight.detach().sum()))


main(int(sys.argv[1]))
