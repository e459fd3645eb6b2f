"""An environment that hands out deep copies of its state as info."""

import copy

import numpy as np
from _environments import Walk
from _training import dqn


class Warehouse(Walk):
    def __init__(self) -> None:
        super().__init__()
        self.robots = [{"id": i, "at": [0, 0], "load": {"mass": 1.0}} for i in range(20)]
        self.shelves = {i: {"items": [1, 2, 3], "at": (i, i)} for i in range(20)}

    def info(self):
        return copy.deepcopy({"robots": self.robots, "shelves": self.shelves})

    def step(self, action):
        obs, reward, terminated, truncated, _ = super().step(action)
        self.robots[self.t % 20]["at"] = [self.t, int(action)]
        return obs, reward, terminated, truncated, self.info()


def main(env_class=Warehouse) -> None:
    np.random.seed(0)
    dqn(env_class(), 5000, every=4)


if __name__ == "__main__":
    main()
