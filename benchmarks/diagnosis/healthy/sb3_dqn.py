"""Stable-Baselines3 DQN with its usual settings."""

import torch
from stable_baselines3 import DQN

if __name__ == "__main__":
    torch.set_num_threads(1)
    model = DQN("MlpPolicy", "CartPole-v1", learning_starts=500, seed=0, device="cpu")
    model.learn(9_000)
