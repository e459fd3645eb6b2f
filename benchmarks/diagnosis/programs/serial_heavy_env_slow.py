"""Heavy environments that take turns in one process."""

import gymnasium as gym
from _environments import Pendulums
from _training import a2c


def heavy():
    return Pendulums(substeps=700)


def main(kind=gym.vector.SyncVectorEnv) -> None:
    envs = kind([heavy] * 4)
    a2c(envs, 60, 16)
    envs.close()


if __name__ == "__main__":
    main()
