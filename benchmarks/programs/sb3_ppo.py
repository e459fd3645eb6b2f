"""PPO of Stable-Baselines3 on CartPole; prints the seconds of its training loop."""

import sys
import time

import torch
from stable_baselines3 import PPO

torch.set_num_threads(1)
model = PPO("MlpPolicy", "CartPole-v1", n_steps=512, seed=0, device="cpu")
begin = time.perf_counter()
model.learn(int(sys.argv[1]) if len(sys.argv) > 1 else 6144)
print(f"loop {time.perf_counter() - begin:.6f}")
