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
        everything = np.array([np.concatenate([row[0], row[3]]) for row in self.rows])
        chosen = [random.randrange(len(self.rows)) for _ in range(count)]
        actions, rewards, dones = zip(
            *((self.rows[i][1], self.rows[i][2], self.rows[i][4]) for i in chosen), strict=True
        )
        obs, next_obs = np.split(everything[chosen], 2, axis=1)
        return (
            torch.from_numpy(obs), torch.tensor(actions),
            torch.tensor(rewards, dtype=torch.float32), torch.from_numpy(next_obs),
            torch.tensor(dones, dtype=torch.float32),
        )  # fmt: skip


def main(memory=None) -> None:
    random.seed(0)
    dqn(Walk(), 4_000, buffer=memory or Memory(), every=2)


if __name__ == "__main__":
    main()
