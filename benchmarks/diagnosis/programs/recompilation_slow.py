"""A compiled loss that is given a list of another length every few updates."""

import gymnasium as gym
import numpy as np
import torch
from _training import ReplayBuffer, network

torch._dynamo.config.recompile_limit = 64


def as_list(rows: torch.Tensor, pieces: int):
    return list(rows.split(-(-len(rows) // pieces)))


def main(give=as_list, steps: int = 3000) -> None:
    torch.manual_seed(0)
    env = gym.make("CartPole-v1")
    q = network(4, 2)
    optimizer = torch.optim.Adam(q.parameters(), 1e-3, fused=True)

    @torch.compile(backend="aot_eager")
    def values(pieces):
        return torch.cat([q(piece) for piece in pieces])

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
            chosen = values(give(seen, 1 + step // 150)).gather(1, taken[:, None]).squeeze(1)
            loss = (chosen - target).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
