"""A replay buffer that is copied to draw from it."""

import random
from collections import deque

import numpy as np
import torch
from _environments import Walk
from _training import dqn


class Memory:
    def __init__(self, capacity: int = 100_000) -> None:
        self.rows = deque(maxlen=capacity)

    def __len__(self) -> int:
        return len(self.rows)

    def push(self, *row) -> None:
        self.rows.append(row)

    def sample(self, count: int):
        rows = [self.rows[i] for i in random.sample(range(len(self.rows)), count)]
        rows += random.sample(list(self.rows), 1)
        columns = zip(*rows[:count])
        obs, actions, rewards, next_obs, dones = columns
        return (
            torch.from_numpy(np.stack(obs)), torch.tensor(actions),
            torch.tensor(rewards, dtype=torch.float32), torch.from_numpy(np.stack(next_obs)),
            torch.tensor(dones, dtype=torch.float32),
        )  # fmt: skip


def main(memory=None) -> None:
    random.seed(0)
    dqn(Walk(), 14_000, buffer=memory or Memory(), every=1)


if __name__ == "__main__":
    main()
