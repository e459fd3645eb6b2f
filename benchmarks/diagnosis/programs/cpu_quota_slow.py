"""A container with less than a core's time, and torch with threads for the host's cores."""

import gymnasium as gym
import torch
from _training import dqn


def main(threads: int = 8) -> None:
    torch.set_num_threads(threads)
    dqn(gym.make("CartPole-v1"), 1500, every=2, batch=512, hidden=256)


if __name__ == "__main__":
    main()
