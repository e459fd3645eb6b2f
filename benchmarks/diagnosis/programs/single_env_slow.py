"""Actor-critic with one environment: the network sees one row at a time."""

import gymnasium as gym
from _training import a2c


def main(envs: int = 1) -> None:
    vector = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1")] * envs)
    length = 256 // envs
    a2c(vector, 12_000 // 256, length)


if __name__ == "__main__":
    main()
