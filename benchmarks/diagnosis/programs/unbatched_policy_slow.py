"""Sixteen environments, and a forward pass for each of them."""

import gymnasium as gym
import numpy as np
import torch
from _training import ActorCritic

ENVS, LENGTH = 16, 16


def act_one_by_one(model, observations):
    actions = []
    for obs in observations:
        with torch.no_grad():
            logits, _ = model(torch.as_tensor(obs)[None])
        actions.append(int(torch.distributions.Categorical(logits=logits).sample()))
    return actions


def main(act=act_one_by_one, iterations: int = 90) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    envs = [gym.make("CartPole-v1") for _ in range(ENVS)]
    model = ActorCritic(4, 2)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True)
    observations = [env.reset(seed=i)[0] for i, env in enumerate(envs)]
    for _ in range(iterations):
        seen, taken, rewards = [], [], []
        for _ in range(LENGTH):
            actions = act(model, observations)
            seen += observations
            taken += actions
            for i, env in enumerate(envs):
                observations[i], reward, terminated, truncated, _ = env.step(actions[i])
                rewards.append(0.0 if terminated else reward)
                if terminated or truncated:
                    observations[i], _ = env.reset()
        logits, values = model(torch.as_tensor(np.stack(seen)))
        log = torch.distributions.Categorical(logits=logits).log_prob(torch.tensor(taken))
        advantage = torch.tensor(rewards) - values
        loss = -(log * advantage.detach()).mean() + advantage.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
