"""A DQN that collects garbage after every update, "to keep memory low"."""

import gc

import gymnasium as gym
from _training import dqn


def collect(step, agent, buffer, reward) -> None:
    if step % 32 == 0:
        gc.collect()


def main(on_step=collect) -> None:
    dqn(gym.make("CartPole-v1"), 3200, on_step=on_step)


if __name__ == "__main__":
    main()
