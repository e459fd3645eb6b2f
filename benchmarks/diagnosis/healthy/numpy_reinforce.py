"""REINFORCE with a linear policy, written in NumPy."""

import gymnasium as gym
import numpy as np


def discounted_returns(rewards, gamma: float = 0.99):
    total, returns = 0.0, np.zeros(len(rewards))
    for t in reversed(range(len(rewards))):
        total = rewards[t] + gamma * total
        returns[t] = total
    return returns - returns.mean()


if __name__ == "__main__":
    env = gym.make("CartPole-v1")
    rng = np.random.default_rng(0)
    weights = np.zeros((4, 2))
    for episode in range(900):
        obs, _ = env.reset(seed=episode)
        seen, taken, rewards, done = [], [], [], False
        while not done:
            scores = obs @ weights
            odds = np.exp(scores - scores.max())
            odds /= odds.sum()
            action = int(rng.random() < odds[1])
            seen.append(obs)
            taken.append((action, odds))
            obs, reward, terminated, truncated, _ = env.step(action)
            rewards.append(reward)
            done = terminated or truncated
        for value, state, (action, odds) in zip(
            discounted_returns(rewards), seen, taken, strict=True
        ):
            gradient = -odds
            gradient[action] += 1
            weights += 0.001 * value * np.outer(state, gradient)
