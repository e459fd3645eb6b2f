# plants: python-gae @ def compute_advantages(self, last_values):
# plants: logging @ self.logger.record_step(step, obs, actions, rewards)
"""Research PPO: config, runner, storage, learner, logger."""

from __future__ import annotations

import argparse
import logging
import time
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn


@dataclass
class Config:
    num_envs: int = 64
    horizon: int = 64
    iterations: int = 14
    epochs: int = 2
    minibatch: int = 1024
    gamma: float = 0.99
    lam: float = 0.95
    fast_gae: bool = False
    log_every: int = 1


class PointField:
    """All points move at once."""

    def __init__(self, count: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.count = count
        self.state = self.rng.normal(size=(count, 6)).astype(np.float32)
        self.age = np.zeros(count, dtype=int)

    def step(self, actions: np.ndarray):
        self.state[:, 2:4] = 0.9 * self.state[:, 2:4] + 0.1 * actions
        self.state[:, :2] += 0.1 * self.state[:, 2:4]
        distance = np.linalg.norm(self.state[:, :2] - self.state[:, 4:], axis=1)
        self.age += 1
        done = (self.age >= 100) | (distance < 0.05)
        self.state[done] = self.rng.normal(size=(int(done.sum()), 6))
        self.age[done] = 0
        return self.state.copy(), -distance, done


class ActorCritic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 2))
        self.critic = nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 1))
        self.log_std = nn.Parameter(torch.full((2,), -0.5))

    def log_prob(self, obs, actions):
        z = (actions - self.actor(obs)) / self.log_std.exp()
        return (-0.5 * z.square() - self.log_std).sum(-1)

    def value(self, obs):
        return self.critic(obs).squeeze(-1)


class Storage:
    def __init__(self, config: Config) -> None:
        self.config = config
        shape = (config.horizon, config.num_envs)
        self.obs, self.actions = np.zeros((*shape, 6), np.float32), np.zeros((*shape, 2), np.float32)
        self.rewards, self.values, self.logp = (np.zeros(shape, np.float32) for _ in range(3))
        self.dones = np.zeros(shape, bool)
        self.advantages = np.zeros(shape, np.float32)

    def compute_advantages(self, last_values):
        c = self.config
        if c.fast_gae:
            following, gae = last_values, np.zeros(c.num_envs, np.float32)
            for t in range(c.horizon - 1, -1, -1):
                alive = ~self.dones[t]
                delta = self.rewards[t] + c.gamma * following * alive - self.values[t]
                gae = delta + c.gamma * c.lam * alive * gae
                self.advantages[t], following = gae, self.values[t]
            return
        for env in range(c.num_envs):
            gae = 0.0
            for t in range(c.horizon - 1, -1, -1):
                following = last_values[env] if t == c.horizon - 1 else self.values[t + 1, env]
                alive = 1.0 - float(self.dones[t, env])
                delta = self.rewards[t, env] + c.gamma * following * alive - self.values[t, env]
                gae = delta + c.gamma * c.lam * alive * gae
                self.advantages[t, env] = gae


class StepLogger:
    def __init__(self, every: int) -> None:
        self.every = every
        self.log = logging.getLogger("ppo")
        self.log.addHandler(logging.FileHandler("/dev/null"))
        self.log.setLevel(logging.INFO)
        self.log.propagate = False

    def record_step(self, step, obs, actions, rewards) -> None:
        if step % self.every == 0:
            self.log.info(f"step {step} obs {obs[0]} action {actions[0]} reward {rewards.mean():.4f}")


class Trainer:
    def __init__(self, config: Config) -> None:
        self.config = config
        self.envs = PointField(config.num_envs, 0)
        self.model = ActorCritic()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-4, fused=True)
        self.storage, self.logger = Storage(config), StepLogger(config.log_every)
        self.obs, self.steps = self.envs.state.copy(), 0

    @torch.no_grad()
    def collect(self) -> None:
        s = self.storage
        for step in range(self.config.horizon):
            x = torch.from_numpy(self.obs)
            mean = self.model.actor(x)
            action = mean + torch.randn_like(mean) * self.model.log_std.exp()
            s.obs[step], s.actions[step] = self.obs, action.numpy()
            s.logp[step] = self.model.log_prob(x, action).numpy()
            s.values[step] = self.model.value(x).numpy()
            obs, rewards, dones = self.envs.step(s.actions[step])
            actions = s.actions[step]
            s.rewards[step], s.dones[step] = rewards, dones
            self.logger.record_step(step, obs, actions, rewards)
            self.obs = obs
        s.compute_advantages(self.model.value(torch.from_numpy(self.obs)).numpy())

    def learn(self) -> float:
        s, c = self.storage, self.config
        flat = [torch.from_numpy(x.reshape(-1, *x.shape[2:])) for x in (s.obs, s.actions, s.logp, s.advantages, s.values)]
        obs, actions, logp, adv, values = flat
        for _ in range(c.epochs):
            for pick in torch.randperm(len(obs)).split(c.minibatch):
                ratio = (self.model.log_prob(obs[pick], actions[pick]) - logp[pick]).exp()
                a = (adv[pick] - adv[pick].mean()) / (adv[pick].std() + 1e-8)
                loss = -torch.min(ratio * a, ratio.clamp(0.8, 1.2) * a).mean()
                target = adv[pick] + values[pick]
                loss = loss + 0.5 * (self.model.value(obs[pick]) - target).square().mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
        return loss.item()

    def run(self) -> None:
        for i in range(self.config.iterations):
            self.collect()
            loss = self.learn()
            print(f"iteration {i} reward {self.storage.rewards.mean():.3f} loss {loss:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--fixed1", action="store_true")
    parser.add_argument("--fixed2", action="store_true")
    parser.add_argument("--iterations", type=int, default=60)
    a = parser.parse_args()
    torch.set_num_threads(1)
    config = Config(iterations=a.iterations)
    config.fast_gae = a.fixed or a.fixed1
    config.log_every = 64 if a.fixed or a.fixed2 else 1
    trainer = Trainer(config)
    begin = time.process_time()
    trainer.run()
    print(f"cpu {time.process_time() - begin:.2f} work {a.iterations * 64 * 64}")


if __name__ == "__main__":
    main()
