"""Stable-Baselines3 DQN; a wrapper keeps a deep copy of the environment for undo."""

# plants: deepcopy-in-step @ self.undo = copy.deepcopy(
import copy
import sys

import gymnasium as gym
import numpy as np
from stable_baselines3 import DQN

FIXED = "--fixed" in sys.argv


class Rooms(gym.Env):
    observation_space = gym.spaces.Box(0, 1, (30,), np.float32)
    action_space = gym.spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.board = {(x, y): {"wall": x == y, "seen": False} for x in range(6) for y in range(5)}
        self.at, self.t = (0, 1), 0
        return self.view(), {}

    def view(self):
        return np.array([cell["seen"] for cell in self.board.values()], np.float32)

    def step(self, action):
        x, y = self.at
        dx, dy = ((0, 1), (1, 0), (0, -1), (-1, 0))[action]
        target = (x + dx, y + dy)
        if target in self.board and not self.board[target]["wall"]:
            self.at = target
        new = not self.board[self.at]["seen"]
        self.board[self.at]["seen"] = True
        self.t += 1
        return self.view(), float(new), False, self.t >= 80, {}


class Undo(gym.Wrapper):
    def step(self, action):
        if FIXED:
            self.undo = (self.unwrapped.at, self.unwrapped.t)
        else:
            self.undo = copy.deepcopy(self.unwrapped.board)
        return self.env.step(action)


DQN("MlpPolicy", Undo(Rooms()), learning_starts=500, train_freq=4, device="cpu").learn(3000)
