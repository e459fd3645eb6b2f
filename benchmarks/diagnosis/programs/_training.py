"""Three small training loops that the scoreboard's programs share: DQN, A2C and its vector."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
torch.distributions.Distribution.set_default_validate_args(False)


def network(inputs: int, outputs: int, hidden: int = 64) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
        nn.Linear(hidden, outputs),
    )  # fmt: skip


class ReplayBuffer:
    """A ring of preallocated arrays."""

    def __init__(self, capacity: int, shape: tuple[int, ...]) -> None:
        self.obs = np.zeros((capacity, *shape), np.float32)
        self.next_obs = np.zeros((capacity, *shape), np.float32)
        self.actions = np.zeros(capacity, np.int64)
        self.rewards = np.zeros(capacity, np.float32)
        self.dones = np.zeros(capacity, np.float32)
        self.capacity, self.size, self.at = capacity, 0, 0
        self.rng = np.random.default_rng(0)

    def __len__(self) -> int:
        return self.size

    def push(self, obs, action, reward, next_obs, done):
        i = self.at
        self.obs[i], self.actions[i], self.rewards[i] = obs, action, reward
        self.next_obs[i], self.dones[i] = next_obs, done
        self.at = (i + 1) % self.capacity
        self.size = min(self.size + 1, self.capacity)

    def push_batch(self, obs, actions, rewards, next_obs, dones):
        i = (self.at + np.arange(len(actions))) % self.capacity
        self.obs[i], self.actions[i], self.rewards[i] = obs, actions, rewards
        self.next_obs[i], self.dones[i] = next_obs, dones
        self.at = (self.at + len(actions)) % self.capacity
        self.size = min(self.size + len(actions), self.capacity)

    def sample(self, count: int):
        i = self.rng.integers(0, self.size, count)
        rows = (self.obs[i], self.actions[i], self.rewards[i], self.next_obs[i], self.dones[i])
        return tuple(torch.from_numpy(row) for row in rows)


class DQN:
    """A Q-network, its target and one gradient step."""

    def __init__(self, inputs: int, actions: int, hidden: int = 64) -> None:
        self.actions = actions
        self.online, self.target = (
            network(inputs, actions, hidden),
            network(inputs, actions, hidden),
        )
        self.target.load_state_dict(self.online.state_dict())
        self.optimizer = torch.optim.Adam(self.online.parameters(), 1e-3, fused=True)
        self.rng = np.random.default_rng(1)

    def act(self, obs, epsilon: float = 0.1) -> int:
        if self.rng.random() < epsilon:
            return int(self.rng.integers(self.actions))
        with torch.no_grad():
            return int(self.online(torch.as_tensor(obs, dtype=torch.float32)[None]).argmax())

    def train_step(self, batch) -> None:
        obs, actions, rewards, next_obs, dones = batch
        with torch.no_grad():
            target = rewards + 0.99 * (1 - dones) * self.target(next_obs).max(1).values
        chosen = self.online(obs).gather(1, actions[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(chosen, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def dqn(env, steps, buffer=None, batch=32, every=2, updates=1, starts=200, on_step=None, hidden=64):
    """Deep Q-learning on one environment."""
    torch.manual_seed(0)
    shape = env.observation_space.shape
    agent = DQN(int(np.prod(shape)), int(env.action_space.n), hidden)
    buffer = buffer if buffer is not None else ReplayBuffer(20_000, shape)
    obs, _ = env.reset(seed=0)
    for step in range(steps):
        action = agent.act(obs)
        next_obs, reward, terminated, truncated, _ = env.step(action)
        buffer.push(obs, action, reward, next_obs, terminated)
        obs = next_obs
        if terminated or truncated:
            obs, _ = env.reset()
        if step >= starts and step % every == 0:
            for _ in range(updates):
                agent.train_step(buffer.sample(batch))
        if step % 500 == 0:
            agent.target.load_state_dict(agent.online.state_dict())
        if on_step is not None:
            on_step(step, agent, buffer, float(reward))
    return agent


class ActorCritic(nn.Module):
    def __init__(self, inputs: int, actions: int, hidden: int = 64) -> None:
        super().__init__()
        self.body = network(inputs, hidden, hidden)
        self.pi, self.v = nn.Linear(hidden, actions), nn.Linear(hidden, 1)

    def forward(self, obs):
        hidden = torch.tanh(self.body(obs))
        return self.pi(hidden), self.v(hidden).squeeze(-1)


def compute_gae(rewards, values, dones, last_value, gamma=0.99, lam=0.95):
    """Advantages of (time, environments) arrays, all environments at once."""
    advantages = np.zeros_like(rewards)
    last = np.zeros_like(last_value)
    following = last_value
    for t in reversed(range(len(rewards))):
        alive = 1.0 - dones[t]
        delta = rewards[t] + gamma * following * alive - values[t]
        last = delta + gamma * lam * alive * last
        advantages[t], following = last, values[t]
    return advantages


def a2c(envs: gym.vector.VectorEnv, iterations: int, length: int = 32, gae=compute_gae, epochs=1,
        on_iteration=None, hidden=64):  # fmt: skip
    """Advantage actor-critic on a vector of environments."""
    torch.manual_seed(0)
    n = envs.num_envs
    inputs = int(np.prod(envs.single_observation_space.shape))
    model = ActorCritic(inputs, int(envs.single_action_space.n), hidden)
    optimizer = torch.optim.Adam(model.parameters(), 7e-4, fused=True)
    obs, _ = envs.reset(seed=0)
    for iteration in range(iterations):
        rows: list[tuple[np.ndarray, ...]] = []
        for _ in range(length):
            flat = np.asarray(obs, np.float32).reshape(n, -1)
            with torch.no_grad():
                logits, values = model(torch.from_numpy(flat))
                actions = torch.distributions.Categorical(logits=logits).sample().numpy()
            obs, rewards, terminated, truncated, _ = envs.step(actions)
            rows.append((flat, actions, rewards, terminated | truncated, values.numpy()))
        seen, taken, rewards, dones, values = (
            np.stack(column) for column in zip(*rows, strict=True)
        )
        with torch.no_grad():
            last = model(torch.from_numpy(np.asarray(obs, np.float32).reshape(n, -1)))[1].numpy()
        advantages = gae(rewards, values, dones.astype(np.float64), last)
        flat_adv = torch.as_tensor(advantages.reshape(-1), dtype=torch.float32)
        returns = flat_adv + torch.as_tensor(values.reshape(-1), dtype=torch.float32)
        for _ in range(epochs):
            logits, value = model(torch.from_numpy(seen.reshape(-1, inputs)))
            log = torch.distributions.Categorical(logits=logits).log_prob(
                torch.from_numpy(taken.reshape(-1))
            )
            loss = -(log * flat_adv).mean() + 0.5 * (value - returns).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if on_iteration is not None:
            on_iteration(iteration, model)
    return model
