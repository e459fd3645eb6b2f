"""An actor-critic with autograd's anomaly detection left on."""

import gymnasium as gym
import torch
from _training import a2c


def main(debug: bool = True) -> None:
    torch.autograd.set_detect_anomaly(debug)
    envs = gym.make_vec("CartPole-v1", num_envs=8, vectorization_mode="sync")
    a2c(envs, 160, epochs=10)


if __name__ == "__main__":
    main()
