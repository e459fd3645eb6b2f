# plants: serial-heavy-env @ SyncVectorEnv(
"""A2C for a gantry crane whose rope is a chain of forty masses, four cranes in one process."""

import sys
import time

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from torch import nn

torch.set_num_threads(1)


class Crane(gym.Env):
    """Implicit Euler of a hanging chain: one dense solve for each of 30 substeps."""

    def __init__(self):
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (6,), np.float32)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        n = 80
        stiff = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
        self.dt, self.stiff = 0.004, 900.0 * stiff
        self.system = np.eye(n) + self.dt**2 * self.stiff

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.normal(0, 0.05, 80)
        self.v = np.zeros(80)
        self.cart, self.goal, self.t = 0.0, self.np_random.uniform(-2, 2), 0
        return self.look(), {}

    def look(self):
        tip = self.x[-1]
        return np.array(
            [self.cart, self.goal, tip, self.v[-1], self.x.mean(), self.t / 200], np.float32
        )

    def step(self, action):
        for _ in range(30):
            self.cart += self.dt * 2.0 * float(action[0])
            force = -self.stiff @ self.x
            force[0] += 900.0 * self.cart
            damping = self.system + self.dt * 0.3 * np.diag(1 + np.abs(self.v))
            self.v = np.linalg.solve(damping, self.v + self.dt * force)
            self.x = self.x + self.dt * self.v
        self.t += 1
        error = abs(self.cart - self.goal) + abs(self.x[-1])
        return self.look(), -error, False, self.t >= 200, {}


def main():
    make = [Crane] * 4
    envs = AsyncVectorEnv(make) if "--fixed" in sys.argv else SyncVectorEnv(make)
    trunk = nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
    mean, value, log_std = nn.Linear(64, 1), nn.Linear(64, 1), nn.Parameter(torch.zeros(1))
    params = [*trunk.parameters(), *mean.parameters(), *value.parameters(), log_std]
    optimizer = torch.optim.Adam(params, lr=7e-4, fused=True)
    obs, _ = envs.reset(seed=1)
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < 8:
        observations, actions, rewards = [], [], []
        for _ in range(16):
            state = torch.as_tensor(obs)
            with torch.no_grad():
                action = mean(trunk(state)) + log_std.exp() * torch.randn(4, 1)
            obs, reward, *_ = envs.step(action.clamp(-1, 1).numpy())
            observations.append(state)
            actions.append(action)
            rewards.append(torch.as_tensor(reward, dtype=torch.float32))
            steps += 4
        with torch.no_grad():
            running = value(trunk(torch.as_tensor(obs)))[:, 0]
        returns = []
        for reward in reversed(rewards):
            running = reward + 0.99 * running
            returns.insert(0, running)
        target = torch.cat(returns)
        hidden = trunk(torch.cat(observations))
        baseline = value(hidden)[:, 0]
        noise = (torch.cat(actions) - mean(hidden)) / log_std.exp()
        logp = (-0.5 * noise**2 - log_std).sum(1)
        loss = -(logp * (target - baseline).detach()).mean() + (target - baseline).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s")
    envs.close()


if __name__ == "__main__":
    main()
