"""A DQN whose batches are lists of observations, made into tensors as they are."""

import random
from collections import deque

import gymnasium as gym
import numpy as np
import torch
from _training import dqn


class Walk(gym.Env):
    """A random walk in 48 dimensions that is rewarded for staying near the origin."""

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (48,), np.float32)
        self.action_space = gym.spaces.Discrete(4)
        self.drift = np.random.default_rng(3).normal(0, 0.1, (4, 48)).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state, self.steps = np.zeros(48, np.float32), 0
        return self.state, {}

    def step(self, action):
        self.state = self.state + self.drift[action]
        self.steps += 1
        return self.state, -float(np.abs(self.state).mean()), False, self.steps >= 200, {}


class Memory:
    def __init__(self) -> None:
        self.rows = deque(maxlen=5000)

    def __len__(self) -> int:
        return len(self.rows)

    def push(self, obs, action, reward, next_obs, done) -> None:
        self.rows.append((obs, action, reward, next_obs, float(done)))

    def sample(self, count: int):
        obs, actions, rewards, next_obs, dones = zip(*random.sample(self.rows, count))
        return (
            self.tensor(obs),
            torch.tensor(actions),
            torch.tensor(rewards, dtype=torch.float32),
            self.tensor(next_obs),
            torch.tensor(dones, dtype=torch.float32),
        )

    def tensor(self, arrays) -> torch.Tensor:
        return torch.tensor(list(arrays))


def main(memory=Memory) -> None:
    random.seed(0)
    dqn(Walk(), 3500, memory(), batch=64, every=1)


if __name__ == "__main__":
    main()
