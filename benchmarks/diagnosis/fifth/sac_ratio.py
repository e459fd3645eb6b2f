# plants: update-ratio @ gradient_steps=
"""Soft actor-critic from Stable-Baselines3 on a thermostat, with far more updates than data."""

import sys
import time

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import SAC

torch.set_num_threads(1)
FIXED = "--fixed" in sys.argv


class Thermostat(gym.Env):
    """Three rooms that leak heat into each other and outdoors."""

    def __init__(self):
        self.observation_space = gym.spaces.Box(-5, 5, (5,), np.float32)
        self.action_space = gym.spaces.Box(-1, 1, (3,), np.float32)
        self.walls = np.array([[-0.3, 0.1, 0.1], [0.1, -0.3, 0.1], [0.1, 0.1, -0.3]])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.rooms, self.hour = self.np_random.normal(0, 1, 3), 0
        return self._see(), {}

    def _see(self):
        angle = self.hour / 24 * 2 * np.pi
        return np.clip(np.array([*self.rooms, np.sin(angle), np.cos(angle)]), -5, 5).astype(
            np.float32
        )

    def step(self, action):
        outside = -1 + np.sin(self.hour / 24 * 2 * np.pi)
        self.rooms = self.rooms + 0.3 * (self.walls @ self.rooms + 0.1 * outside + action)
        self.hour += 1
        reward = -float(np.square(self.rooms).sum()) - 0.1 * float(np.abs(action).sum())
        return self._see(), reward, False, self.hour >= 96, {}


model = SAC(
    "MlpPolicy",
    Thermostat(),
    learning_starts=100,
    batch_size=128,
    train_freq=1,
    gradient_steps=1 if FIXED else 10,
    policy_kwargs={"net_arch": [64, 64]},
    seed=0,
)
steps = 600 if FIXED else 200
start = time.perf_counter()
model.learn(steps)
print(f"{steps / (time.perf_counter() - start):.1f} steps/s")
