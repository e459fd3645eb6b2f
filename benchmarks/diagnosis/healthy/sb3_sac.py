"""Stable-Baselines3 SAC: one update a step, as published."""

import torch
from stable_baselines3 import SAC

if __name__ == "__main__":
    torch.set_num_threads(1)
    model = SAC("MlpPolicy", "Pendulum-v1", learning_starts=200, batch_size=256, seed=0,
                device="cpu")  # fmt: skip
    model.learn(1_500)
