"""A replay buffer of pictures, kept as floats: larger than the machine's memory."""

import gymnasium as gym
import numpy as np
import torch
from _training import DQN

SIDE = 64


def memory() -> int:
    with open("/proc/meminfo") as file:
        return int(file.readline().split()[1]) * 1024


class Screen(gym.Env):
    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(0, 255, (SIDE, SIDE), np.uint8)
        self.action_space = gym.spaces.Discrete(3)
        self.frame = np.zeros((SIDE, SIDE), np.uint8)
        self.t = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.frame[:] = 0
        self.t = 0
        return self.frame.copy(), {}

    def step(self, action):
        self.t += 1
        self.frame[self.t % SIDE, int(action) * 20 : int(action) * 20 + 20] = 255
        return self.frame.copy(), float(action), False, self.t >= 200, {}


class FrameBuffer:
    dtype = np.float32

    def __init__(self, capacity: int) -> None:
        self.obs = np.zeros((capacity, SIDE, SIDE), self.dtype)
        self.next_obs = np.zeros((capacity, SIDE, SIDE), self.dtype)
        self.actions = np.zeros(capacity, np.int64)
        self.rewards = np.zeros(capacity, np.float32)
        self.capacity, self.size = capacity, 0
        self.rng = np.random.default_rng(0)

    def __len__(self) -> int:
        return self.size

    def push(self, obs, action, reward, next_obs) -> None:
        i = self.size % self.capacity
        self.obs[i], self.next_obs[i] = obs, next_obs
        self.actions[i], self.rewards[i] = action, reward
        self.size += 1

    def sample(self, count: int):
        i = self.rng.integers(0, min(self.size, self.capacity), count)
        obs, next_obs = (
            torch.from_numpy(part[i].astype(np.float32).reshape(count, -1)) / 255
            for part in (self.obs, self.next_obs)
        )
        rest = torch.from_numpy(self.actions[i]), torch.from_numpy(self.rewards[i])
        return obs, *rest, next_obs, torch.zeros(count)


def main(kind=FrameBuffer, steps: int = 2500) -> None:
    torch.manual_seed(0)
    rows = int(0.46 * memory() / (4 * SIDE * SIDE))
    env, buffer, agent = Screen(), kind(rows), DQN(SIDE * SIDE, 3)
    obs, _ = env.reset(seed=0)
    for step in range(steps):
        action = agent.act(obs.reshape(-1) / 255)
        next_obs, reward, terminated, truncated, _ = env.step(action)
        buffer.push(obs, action, reward, next_obs)
        obs = next_obs
        if terminated or truncated:
            obs, _ = env.reset()
        if step > 200:
            agent.train_step(buffer.sample(32))


if __name__ == "__main__":
    main()
