"""Small environments that the scoreboard's programs train on."""

from __future__ import annotations

import gymnasium as gym
import numpy as np


class Walk(gym.Env):
    """Keep a drifting point near the middle."""

    def __init__(self, size: int = 8, length: int = 100) -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (size,), np.float32)
        self.action_space = gym.spaces.Discrete(3)
        self.size, self.length = size, length
        self.t = 0
        self.position = np.zeros(size, np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        self.position = self.np_random.normal(size=self.size).astype(np.float32)
        return self.position.copy(), {}

    def step(self, action):
        self.t += 1
        self.position += self.np_random.normal(0, 0.1, self.size).astype(np.float32)
        self.position[0] += 0.2 * (int(action) - 1)
        reward = -float(abs(self.position[0]))
        return self.position.copy(), reward, abs(self.position[0]) > 4, self.t >= self.length, {}


class Pendulums(gym.Env):
    """A chain of pendulums, integrated in small Python steps: a heavy simulator."""

    def __init__(self, substeps: int = 60, length: int = 200) -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (6,), np.float32)
        self.action_space = gym.spaces.Discrete(3)
        self.substeps, self.length = substeps, length
        self.t, self.angle, self.speed = 0, [0.0] * 3, [0.0] * 3

    def observe(self):
        return np.array(self.angle + self.speed, np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        self.angle = list(self.np_random.uniform(-0.5, 0.5, 3))
        self.speed = [0.0] * 3
        return self.observe(), {}

    def step(self, action):
        torque = float(action) - 1.0
        angle, speed = self.angle, self.speed
        for _ in range(self.substeps):
            for i in range(3):
                left = angle[i - 1] if i else 0.0
                pull = 0.7 * (left - angle[i]) - 0.05 * speed[i] - 2.0 * angle[i]
                if i == 2:
                    pull += torque
                speed[i] += 0.005 * pull
            for i in range(3):
                angle[i] += 0.005 * speed[i]
        self.t += 1
        return self.observe(), -abs(angle[2]), False, self.t >= self.length, {}


def vector(make, count: int = 8, **options) -> gym.vector.VectorEnv:
    return gym.vector.SyncVectorEnv([make] * count, **options)
