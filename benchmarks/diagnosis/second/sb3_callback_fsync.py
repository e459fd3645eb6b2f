"""Stable-Baselines3 PPO with a callback that writes every step to disk and waits for it."""

# plants: logging @ os.fsync(
import os
import sys
import tempfile

import gymnasium as gym
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

FIXED = "--fixed" in sys.argv


class Ledger(BaseCallback):
    def __init__(self, path):
        super().__init__()
        self.out = open(path, "w")

    def _on_step(self):
        self.out.write(f"{self.num_timesteps},{self.locals['rewards'][0]}\n")
        if not FIXED:
            self.out.flush()
            os.fsync(self.out.fileno())
        return True


with tempfile.TemporaryDirectory() as folder:
    model = PPO("MlpPolicy", gym.make("Acrobot-v1"), n_steps=128, n_epochs=2, device="cpu")
    model.learn(500, callback=Ledger(os.path.join(folder, "ledger.csv")))
