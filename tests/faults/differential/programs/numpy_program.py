"""A NumPy table learner computes the same numbers."""

# needs: numpy
import pickle

import numpy as np

rng = np.random.default_rng(1)
table = np.zeros((10, 2))


class Env:
    def reset(self):
        self.at = 0
        return 0

    def step(self, action):
        self.at = (self.at + action + 1) % 10
        return self.at, float(self.at == 9), self.at == 9, {}


env = Env()
for _ in range(60):
    state, done = env.reset(), False
    while not done:
        action = int(rng.integers(2)) if rng.random() < 0.3 else int(table[state].argmax())
        after, reward, done, _ = env.step(action)
        table[state, action] += 0.1 * (reward + 0.9 * table[after].max() - table[state, action])
        state = after
print(table.round(12).tolist(), pickle.loads(pickle.dumps(np.array)) is np.array, np.array.__name__)
