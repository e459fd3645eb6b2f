"""A drone whose physics is NumPy calls on vectors of three numbers."""

# plants: tiny-arrays-in-step @ np.clip(
import math
import sys

import gymnasium as gym
import numpy as np
from stable_baselines3 import PPO

FIXED = "--fixed" in sys.argv


class Drone(gym.Env):
    observation_space = gym.spaces.Box(-100, 100, (6,), np.float32)
    action_space = gym.spaces.Box(-1, 1, (3,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.p, self.v, self.t = np.zeros(3), np.zeros(3), 0
        if FIXED:
            self.p, self.v = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
        return self.view(), {}

    def view(self):
        return np.array([*self.p, *self.v], np.float32)

    def quick(self, a):
        p, v = self.p, self.v
        for _ in range(8):
            speed = math.sqrt(v[0] ** 2 + v[1] ** 2 + v[2] ** 2)
            for i in range(3):
                push = min(max(a[i], -1.0), 1.0) - 0.1 * speed * v[i]
                v[i] = min(max(v[i] + 0.01 * push, -5.0), 5.0)
                p[i] += 0.01 * v[i]
        return -math.sqrt((p[0] - 1) ** 2 + (p[1] - 1) ** 2 + (p[2] - 1) ** 2)

    def numpy(self, a):
        for _ in range(8):
            drag = 0.1 * np.linalg.norm(self.v) * self.v
            push = np.clip(np.asarray(a), -1.0, 1.0) - drag
            self.v = np.clip(self.v + 0.01 * push, -5.0, 5.0)
            self.p = np.add(self.p, np.multiply(0.01, self.v))
        return -float(np.linalg.norm(self.p - np.ones(3)))

    def step(self, action):
        self.t += 1
        reward = self.quick(action.tolist()) if FIXED else self.numpy(action)
        return self.view(), reward, False, self.t >= 100, {}


PPO("MlpPolicy", Drone(), n_steps=1024, n_epochs=3, device="cpu").learn(6144)
