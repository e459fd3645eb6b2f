"""Frames that are shrunk with a slow filter in every step."""

import gymnasium as gym
import numpy as np
from _environments import vector
from _training import a2c
from PIL import Image


class Pixels(gym.Env):
    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(0, 1, (400,), np.float32)
        self.action_space = gym.spaces.Discrete(3)
        self.frame = np.zeros((200, 200), np.uint8)
        self.x = self.t = 0

    def shrink(self):
        return np.asarray(Image.fromarray(self.frame).resize((20, 20), Image.Resampling.LANCZOS))

    def observation(self):
        return self.shrink().astype(np.float32).reshape(-1) / 255

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.t = 100, 0
        self.frame[:] = 0
        return self.observation(), {}

    def step(self, action):
        self.frame[:, self.x : self.x + 20] = 0
        self.x = int(np.clip(self.x + 5 * (int(action) - 1), 0, 180))
        self.frame[:, self.x : self.x + 20] = 255
        self.t += 1
        return self.observation(), -abs(self.x - 90) / 90, False, self.t >= 100, {}


def main(env_class=Pixels) -> None:
    a2c(vector(env_class), 50)


if __name__ == "__main__":
    main()
