# plants: nothing
"""Healthy: QR-DQN of sb3-contrib that fills its buffer before it learns; the fall of the
speed is expected.
"""

import time

import gymnasium as gym
import torch
from sb3_contrib import QRDQN
from stable_baselines3.common.env_util import make_vec_env

torch.set_num_threads(1)
envs = make_vec_env(lambda: gym.make("Acrobot-v1"), n_envs=8, seed=0)
model = QRDQN(
    "MlpPolicy",
    envs,
    learning_starts=12000,
    train_freq=8,
    gradient_steps=8,
    batch_size=128,
    policy_kwargs={"net_arch": [128, 128], "n_quantiles": 50, "optimizer_kwargs": {"fused": True}},
    device="cpu",
    seed=0,
)
steps = 16000
start = time.perf_counter()
model.learn(steps)
print(f"{steps / (time.perf_counter() - start):.1f} steps/s")
