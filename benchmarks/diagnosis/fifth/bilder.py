# plants: pickled-observations @ shared_memory=
"""Pixel agent on gymnasium's asynchronous vector environment; frames travel through pipes."""

import sys
import time

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AsyncVectorEnv
from torch import nn

torch.set_num_threads(1)


class Catcher(gym.Env):
    """A falling block on a 192 x 160 colour screen, four frames stacked."""

    def __init__(self):
        self.observation_space = gym.spaces.Box(0, 255, (4, 192, 160, 3), np.uint8)
        self.action_space = gym.spaces.Discrete(3)
        self.screen = np.zeros((4, 192, 160, 3), np.uint8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.screen[:] = 0
        self.paddle, self.x, self.y = 80, int(self.np_random.integers(8, 152)), 0
        self.draw()
        return self.screen, {}

    def draw(self):
        self.screen[:-1] = self.screen[1:]
        self.screen[-1] = (20, 30, 40)
        self.screen[-1, self.y : self.y + 8, self.x - 4 : self.x + 4] = (250, 200, 0)
        self.screen[-1, 184:, self.paddle - 12 : self.paddle + 12] = 255

    def step(self, action):
        self.paddle = int(np.clip(self.paddle + 6 * (action - 1), 12, 148))
        self.y += 4
        self.draw()
        down = self.y >= 180
        return self.screen, float(down and abs(self.paddle - self.x) < 16), down, False, {}


class Eye(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(4, 8, 8, 4),
            nn.ReLU(),
            nn.Conv2d(8, 16, 4, 2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(16 * 1 * 1, 3),
        )

    def forward(self, frames):
        small = frames[:, :, ::4, ::4].float().mean(-1) / 255
        return self.net(small)


def main():
    envs = AsyncVectorEnv([Catcher] * 4, shared_memory="--fixed" in sys.argv)
    eye = Eye()
    optimizer = torch.optim.Adam(eye.parameters(), 1e-3, fused=True)
    obs, _ = envs.reset(seed=0)
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < 8:
        seen, chosen, rewards = [], [], []
        for _ in range(16):
            frames = torch.from_numpy(obs[:, :, ::2, ::2].copy())
            with torch.no_grad():
                actions = torch.multinomial(eye(frames).softmax(-1), 1)[:, 0]
            obs, reward, *_ = envs.step(actions.numpy())
            seen.append(frames)
            chosen.append(actions)
            rewards.append(reward)
            steps += 4
        returns = np.cumsum(rewards[::-1], 0)[::-1].astype(np.float32).copy()
        logp = eye(torch.cat(seen)).log_softmax(-1).gather(1, torch.cat(chosen)[:, None])[:, 0]
        loss = -(logp * torch.from_numpy(returns).flatten()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s")
    envs.close()


if __name__ == "__main__":
    main()
