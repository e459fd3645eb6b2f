"""A policy gradient whose running baseline keeps the graph of every update before it."""

import gymnasium as gym
import numpy as np
import torch
from _training import ActorCritic


def keep(baseline):
    return baseline


def main(carry=keep, updates: int = 1800, length: int = 4) -> None:
    torch.manual_seed(0)
    envs = gym.make_vec("CartPole-v1", num_envs=8, vectorization_mode="sync")
    model = ActorCritic(4, 2)
    offset = torch.nn.Parameter(torch.zeros(()))
    optimizer = torch.optim.Adam([*model.parameters(), offset], 1e-3, fused=True)
    baseline = torch.zeros(())
    obs, _ = envs.reset(seed=0)
    for _ in range(updates):
        seen, taken, rewards = [], [], []
        for _ in range(length):
            with torch.no_grad():
                logits, _ = model(torch.from_numpy(obs))
                actions = torch.distributions.Categorical(logits=logits).sample()
            seen.append(obs)
            taken.append(actions)
            obs, reward, *_ = envs.step(actions.numpy())
            rewards.append(reward)
        returns = torch.as_tensor(np.cumsum(rewards[::-1], 0)[::-1].copy(), dtype=torch.float32)
        baseline = 0.95 * carry(baseline) + 0.05 * (returns.mean() + offset)
        logits, _ = model(torch.from_numpy(np.concatenate(seen)))
        chosen = torch.distributions.Categorical(logits=logits).log_prob(torch.cat(taken))
        advantage = returns.reshape(-1) - baseline
        loss = -(chosen * advantage).mean() + advantage.pow(2).mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()


if __name__ == "__main__":
    main()
