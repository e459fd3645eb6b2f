"""Healthy: Stable-Baselines3 PPO over eight environments with normalised observations."""

# plants: nothing
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

torch.set_num_threads(1)
envs = VecNormalize(make_vec_env("Pendulum-v1", n_envs=8))
PPO("MlpPolicy", envs, n_steps=256, batch_size=512, n_epochs=5, device="cpu").learn(12_000)
