"""Every vector step waits for the environment that has its slow step."""

import time

import gymnasium as gym
from _environments import Walk
from _training import a2c


class Uneven(Walk):
    """Now and then a step asks a slow service."""

    every, pause = 8, 0.02

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.steps = 2 * seed
        return super().reset(seed=seed)

    def ask(self) -> None:
        time.sleep(self.pause)

    def step(self, action):
        self.steps += 1
        if self.steps % self.every == 0:
            self.ask()
        return super().step(action)


def main(env_class=Uneven) -> None:
    envs = gym.vector.AsyncVectorEnv([env_class] * 4)
    a2c(envs, 30, 32)
    envs.close()


if __name__ == "__main__":
    main()
