"""Priorities that are searched one after the other."""

import numpy as np
from _environments import Walk
from _training import ReplayBuffer, dqn


class PrioritizedReplay(ReplayBuffer):
    def __init__(self) -> None:
        super().__init__(3000, (8,))
        self.priorities = np.ones(3000)

    def __bool__(self) -> bool:
        return True

    def find(self, wanted: float) -> int:
        total = 0.0
        for i in range(self.size):
            total += self.priorities[i]
            if total >= wanted:
                return i
        return self.size - 1

    def sample(self, count: int):
        total = self.priorities[: self.size].sum()
        chosen = [self.find(x) for x in self.rng.uniform(0, total, count)]
        self.priorities[chosen] = self.rng.uniform(0.5, 1.5, count)
        self.chosen = np.array(chosen)
        return self.rows(self.chosen)

    def rows(self, i):
        import torch

        rows = (self.obs[i], self.actions[i], self.rewards[i], self.next_obs[i], self.dones[i])
        return tuple(torch.from_numpy(row) for row in rows)


def main(kind=PrioritizedReplay) -> None:
    dqn(Walk(), 2600, buffer=kind(), every=4, batch=16)


if __name__ == "__main__":
    main()
