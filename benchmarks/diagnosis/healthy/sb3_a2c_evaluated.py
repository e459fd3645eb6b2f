"""Stable-Baselines3 A2C, evaluated and saved now and then."""

import torch
from stable_baselines3 import A2C
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.env_util import make_vec_env

if __name__ == "__main__":
    torch.set_num_threads(1)
    envs = make_vec_env("CartPole-v1", n_envs=8, seed=0)
    look = EvalCallback(make_vec_env("CartPole-v1", seed=1), eval_freq=1500, n_eval_episodes=3)
    A2C("MlpPolicy", envs, n_steps=16, seed=0, device="cpu").learn(24_000, callback=look)
