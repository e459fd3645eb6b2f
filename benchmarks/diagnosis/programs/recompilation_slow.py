"""A compiled update that is given another Python number every few updates."""

import gymnasium as gym
import numpy as np
import torch
from _training import ReplayBuffer, network

torch._dynamo.config.recompile_limit = 64


def as_number(step: int):
    return 0.2 + (step // 200) * 0.01


def main(rate=as_number, steps: int = 4000) -> None:
    torch.manual_seed(0)
    env = gym.make("CartPole-v1")
    q = network(4, 2)
    optimizer = torch.optim.Adam(q.parameters(), 1e-3)

    @torch.compile(backend="aot_eager")
    def loss_of(obs, actions, target, weight):
        chosen = q(obs).gather(1, actions[:, None]).squeeze(1)
        error = (chosen - target).abs()
        return torch.where(error < weight, 0.5 * error**2, weight * (error - 0.5 * weight)).mean()

    buffer = ReplayBuffer(10_000, (4,))
    rng = np.random.default_rng(0)
    obs, _ = env.reset(seed=0)
    for step in range(steps):
        action = int(rng.integers(2))
        next_obs, reward, terminated, truncated, _ = env.step(action)
        buffer.push(obs, action, reward, next_obs, terminated)
        obs = next_obs
        if terminated or truncated:
            obs, _ = env.reset()
        if step >= 200 and step % 4 == 0:
            seen, taken, rewards, following, dones = buffer.sample(64)
            with torch.no_grad():
                target = rewards + 0.99 * (1 - dones) * q(following).max(1).values
            loss = loss_of(seen, taken, target, rate(step))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
