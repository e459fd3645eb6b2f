"""Many more environment processes than cores."""

import gymnasium as gym
from _environments import Pendulums
from _training import a2c


def light():
    return Pendulums(substeps=150)


def main(count: int = 16) -> None:
    envs = gym.vector.AsyncVectorEnv([light] * count)
    a2c(envs, 12, 640 // count)
    envs.close()


if __name__ == "__main__":
    main()
