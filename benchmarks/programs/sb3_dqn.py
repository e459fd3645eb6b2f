"""DQN of Stable-Baselines3 on CartPole; prints the seconds of its training loop."""

import sys
import time

import torch
from stable_baselines3 import DQN

torch.set_num_threads(1)
model = DQN("MlpPolicy", "CartPole-v1", learning_starts=100, seed=0, device="cpu")
begin = time.perf_counter()
model.learn(int(sys.argv[1]) if len(sys.argv) > 1 else 8000)
print(f"loop {time.perf_counter() - begin:.6f}")
