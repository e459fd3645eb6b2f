"""Q-learning in a table on CartPole: settings that trade speed for learning."""

import argparse
import random

import gymnasium as gym
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--learn-every", type=int, default=1, help="steps per update")
parser.add_argument("--replay", type=int, default=0, help="past transitions learned per step")
parser.add_argument("--bins", choices=["fine", "coarse"], default="coarse")
parser.add_argument("--steps", type=int, default=150_000)
options = parser.parse_args()

HIGH = np.array([2.4, 3.0, 0.21, 3.0])
EDGES = {
    "fine": [np.linspace(-h, h, n)[1:-1] for h, n in zip(HIGH, (6, 6, 12, 12), strict=True)],
    "coarse": [np.linspace(-h, h, n)[1:-1] for h, n in zip(HIGH, (2, 2, 8, 10), strict=True)],
}[options.bins]
USED = [i for i, edges in enumerate(EDGES) if len(edges)]


def state_of(observation):
    return tuple(int(np.searchsorted(EDGES[i], observation[i])) for i in USED)


env = gym.make("CartPole-v1")
chance = random.Random(options.seed)
table = np.zeros([len(EDGES[i]) + 1 for i in USED] + [2])
observation, _ = env.reset(seed=options.seed)
state = state_of(observation)
episodes = 0
memory = []


def learn(state, action, goal_of):
    following, reward, terminated = goal_of
    goal = -1.0 if terminated else reward + 0.99 * table[following].max()
    table[(*state, action)] += 0.2 * (goal - table[(*state, action)])


for step in range(options.steps):
    explore = chance.random() < max(0.01, 0.3 * 0.98**episodes)
    action = chance.randrange(2) if explore else int(table[state].argmax())
    observation, reward, terminated, truncated, _ = env.step(action)
    following = state_of(observation)
    transition = state, action, (following, reward, terminated)
    if step % options.learn_every == 0:
        learn(*transition)
    if options.replay:
        memory.append(transition)
        for past in chance.choices(memory, k=options.replay):
            learn(*past)
    state = following
    if terminated or truncated:
        episodes += 1
        state = state_of(env.reset()[0])
