"""Many more environment processes than cores."""

import os

import gymnasium as gym
from _environments import Pendulums
from _training import a2c


def light():
    return Pendulums(substeps=12)


def main(count: int = 16) -> None:
    envs = gym.vector.AsyncVectorEnv([light] * count)
    a2c(envs, 40, 640 // count)
    envs.close()


if __name__ == "__main__":
    main()
