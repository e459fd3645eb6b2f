# plants: logging @ add_histogram(
"""A2C from Stable-Baselines3 with a callback that writes a histogram of every weight."""

import sys
import tempfile
import time

import gymnasium as gym
import torch
from stable_baselines3 import A2C
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from torch.utils.tensorboard import SummaryWriter

torch.set_num_threads(1)
EVERY = 2000 if "--fixed" in sys.argv else 5


class Weights(BaseCallback):
    """Watches how the weights and the gradients move."""

    def __init__(self, folder):
        super().__init__()
        self.writer = SummaryWriter(folder)

    def _on_step(self):
        if self.n_calls % EVERY == 0:
            for name, weight in self.model.policy.named_parameters():
                self.writer.add_histogram(name, weight.detach(), self.num_timesteps)
        return True

    def _on_training_end(self):
        self.writer.close()


def main():
    envs = make_vec_env(lambda: gym.make("Acrobot-v1"), n_envs=8, seed=0)
    model = A2C("MlpPolicy", envs, n_steps=16, device="cpu", seed=0)
    steps = 16000
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        model.learn(steps, callback=Weights(folder))
        print(f"{steps / (time.perf_counter() - start):.1f} steps/s")


if __name__ == "__main__":
    main()
