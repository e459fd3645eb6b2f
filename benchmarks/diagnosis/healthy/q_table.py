"""Q-learning with a table, without any library but NumPy."""

import gymnasium as gym
import numpy as np


class Agent:
    def __init__(self, states: int, actions: int) -> None:
        self.q = np.zeros((states, actions))
        self.rng = np.random.default_rng(0)

    def act(self, state: int) -> int:
        if self.rng.random() < 0.1:
            return int(self.rng.integers(self.q.shape[1]))
        return int(self.q[state].argmax())

    def learn(self, state, action, reward, following, done) -> None:
        target = reward + 0.95 * (0 if done else self.q[following].max())
        self.q[state, action] += 0.1 * (target - self.q[state, action])


if __name__ == "__main__":
    env = gym.make("FrozenLake-v1")
    agent = Agent(16, 4)
    state, _ = env.reset(seed=0)
    for _ in range(120_000):
        action = agent.act(state)
        following, reward, terminated, truncated, _ = env.step(action)
        agent.learn(state, action, reward, following, terminated)
        state = following
        if terminated or truncated:
            state, _ = env.reset()
