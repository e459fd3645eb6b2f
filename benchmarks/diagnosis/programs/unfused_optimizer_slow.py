"""Deep Q-learning with several small heads: Adam goes through their tensors one by one."""

import numpy as np
import torch
from _environments import Walk
from _training import ReplayBuffer, network
from torch import nn


class Heads(nn.Module):
    def __init__(self, inputs, actions, count=8) -> None:
        super().__init__()
        self.heads = nn.ModuleList(network(inputs, actions, 32) for _ in range(count))

    def forward(self, obs):
        return torch.stack([head(obs) for head in self.heads]).mean(0)


def main(**options) -> None:
    torch.manual_seed(0)
    np.random.seed(0)
    env, buffer = Walk(), ReplayBuffer(5000, Walk().observation_space.shape)
    q = Heads(int(np.prod(env.observation_space.shape)), int(env.action_space.n))
    optimizer = torch.optim.Adam(q.parameters(), 1e-3, **options)
    obs, _ = env.reset(seed=0)
    for step in range(1500):
        action = int(np.random.randint(env.action_space.n))
        next_obs, reward, terminated, truncated, _ = env.step(action)
        buffer.push(obs, action, reward, next_obs, terminated)
        obs = env.reset()[0] if terminated or truncated else next_obs
        if step > 100:
            rows, actions, rewards, following, dones = buffer.sample(32)
            with torch.no_grad():
                target = rewards + 0.99 * (1 - dones) * q(following).max(1).values
            loss = (q(rows).gather(1, actions[:, None])[:, 0] - target).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
