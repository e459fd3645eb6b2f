"""Seeded and shared random numbers are the same sequence, steps in between or not."""

import random


class Env:
    def reset(self):
        return random.random()

    def step(self, action):
        return random.random(), random.gauss(0, 1), random.random() < 0.1, {}


random.seed(3)
env, total, state = Env(), 0.0, 0.0
for _ in range(20):
    state, done = env.reset(), False
    while not done:
        state, reward, done, _ = env.step(random.choice((0, 1)))
        total += reward
print(total, state, random.getstate()[1][-1])
