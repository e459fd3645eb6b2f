# plants: subprocess-overhead @ envs = kind(
"""REINFORCE on eight mountain cars, each in a process of its own."""

import sys
import time

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from torch import nn

torch.set_num_threads(1)


def make():
    return gym.make("MountainCarContinuous-v0")


def main():
    kind = SyncVectorEnv if "--fixed" in sys.argv else AsyncVectorEnv
    envs = kind([make] * 8)
    policy = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(policy.parameters(), 3e-3, fused=True)
    obs, _ = envs.reset(seed=0)
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < 7:
        states, actions, rewards = [], [], []
        for _ in range(100):
            s = torch.from_numpy(obs)
            with torch.no_grad():
                a = policy(s) + 0.5 * torch.randn(8, 1)
            obs, reward, *_ = envs.step(a.clamp(-1, 1).numpy())
            states.append(s)
            actions.append(a)
            rewards.append(reward)
            steps += 8
        togo = (
            torch.from_numpy(np.cumsum(np.array(rewards)[::-1], 0)[::-1].copy()).float().flatten()
        )
        togo = (togo - togo.mean()) / (togo.std() + 1e-6)
        miss = (torch.cat(actions) - policy(torch.cat(states)))[:, 0]
        loss = (miss.pow(2) * togo).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s")
    envs.close()


if __name__ == "__main__":
    main()
