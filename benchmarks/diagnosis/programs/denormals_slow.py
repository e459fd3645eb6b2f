"""Levels that never come back leave ever smaller averages in the optimizer."""

import gymnasium as gym
import numpy as np
import torch
from _environments import Walk
from _training import DQN, ReplayBuffer

TILES = 1600


class Levels(Walk):
    """A point and the tiles that it sees: other tiles after the first level."""

    def __init__(self) -> None:
        super().__init__(size=8)
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (8 + TILES,), np.float32)
        self.steps = 0

    def see(self, position):
        self.steps += 1
        tiles = np.zeros(TILES, np.float32)
        many = TILES - TILES // 8
        among = (0, many) if self.steps < 300 else (many, TILES)
        tiles[self.np_random.integers(*among, 100)] = 1.0
        return np.concatenate([position, tiles]).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        position, info = super().reset(seed=seed)
        return self.see(position), info

    def step(self, action):
        position, *rest = super().step(action)
        return self.see(position), *rest


def main(flush: bool = False, steps: int = 3000) -> None:
    torch.manual_seed(0)
    torch.set_flush_denormal(flush)
    env = Levels()
    agent, buffer = DQN(8 + TILES, 3, hidden=192), ReplayBuffer(256, (8 + TILES,))
    agent.optimizer = torch.optim.RMSprop(agent.online.parameters(), 1e-4, alpha=0.8)
    obs, _ = env.reset(seed=0)
    for step in range(steps):
        action = agent.act(obs)
        next_obs, reward, terminated, truncated, _ = env.step(action)
        buffer.push(obs, action, reward, next_obs, terminated)
        obs = next_obs
        if terminated or truncated:
            obs, _ = env.reset()
        if step >= 64:
            agent.train_step(buffer.sample(8))


if __name__ == "__main__":
    main()
