"""A DQN on many environments at once that chooses actions with gradients on."""

import contextlib

import gymnasium as gym
import numpy as np
import torch
from _training import ReplayBuffer
from torch import nn


class Q(nn.Module):
    """A deep and narrow network, as for tabular observations."""

    def __init__(self, inputs: int, actions: int, width: int = 32, depth: int = 16) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, width)
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.last = nn.Linear(width, actions)

    def forward(self, x):
        x = self.first(x)
        for block, norm in zip(self.blocks, self.norms):
            x = x + torch.relu(norm(block(x)))
        return self.last(x)


def main(acting=contextlib.nullcontext, steps: int = 9000) -> None:
    torch.manual_seed(0)
    envs = gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")
    q = Q(4, 2)
    optimizer = torch.optim.Adam(q.parameters(), 1e-3, fused=True)
    buffer = ReplayBuffer(20_000, (4,))
    obs, _ = envs.reset(seed=0)
    for step in range(steps):
        with acting():
            actions = q(torch.from_numpy(obs)).argmax(1).numpy()
        next_obs, rewards, terminated, truncated, _ = envs.step(actions)
        buffer.push_batch(obs, actions, rewards, next_obs, terminated)
        obs = next_obs
        if step % 64 == 63:
            seen, taken, gains, following, dones = buffer.sample(64)
            with torch.no_grad():
                target = gains + 0.99 * (1 - dones) * q(following).max(1).values
            loss = (q(seen).gather(1, taken[:, None]).squeeze(1) - target).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    np.random.seed(0)
    main()
