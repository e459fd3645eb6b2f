# ruff: noqa  (a program as people write them, kept as it is)
"""SARSA on FrozenLake with a numpy table, in one function."""

import gymnasium as gym
import numpy as np


def train(episodes=1500, lr=0.1, discount=0.99, epsilon=0.1):
    env = gym.make("FrozenLake-v1", map_name="8x8")
    env.action_space.seed(0)
    rng = np.random.default_rng(0)
    table = np.zeros((env.observation_space.n, env.action_space.n))

    def choose(state):
        return env.action_space.sample() if rng.random() < epsilon else int(np.argmax(table[state]))

    wins = 0
    for ep in range(episodes):
        state, _ = env.reset(seed=ep)
        action = choose(state)
        while True:
            nxt, reward, terminated, truncated, _ = env.step(action)
            nxt_action = choose(nxt)
            table[state, action] += lr * (
                reward + discount * table[nxt, nxt_action] * (not terminated) - table[state, action]
            )
            state, action = nxt, nxt_action
            if terminated or truncated:
                wins += reward
                break
    return table.sum(), wins


if __name__ == "__main__":
    print(*train())
