"""Stable-Baselines3 PPO, eight light environments in this process."""

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

if __name__ == "__main__":
    torch.set_num_threads(1)
    envs = make_vec_env("CartPole-v1", n_envs=8, seed=0)
    PPO("MlpPolicy", envs, n_steps=128, batch_size=256, seed=0, device="cpu").learn(20_000)
