# ruff: noqa  (a program as people write them, kept as it is)
import numpy as np


class Memory:
    def __init__(self, capacity, dim):
        self.capacity = capacity
        self.data = np.zeros((capacity, 2 * dim + 3), np.float32)
        self.pos = self.full = 0

    def store(self, s, a, r, s2, d):
        self.data[self.pos % self.capacity] = np.concatenate([s, [a, r, d], s2])
        self.pos += 1

    def sample(self, batch_size):
        return self.data[np.random.randint(min(self.pos, self.capacity), size=batch_size)]

    def __len__(self):
        return min(self.pos, self.capacity)
