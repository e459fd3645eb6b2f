"""A DQN that goes through its batch one transition at a time."""

import gymnasium as gym
import torch
from _training import DQN, ReplayBuffer


class OneByOne(DQN):
    def train_step(self, batch) -> None:
        for i in range(len(batch[0])):
            super().train_step(tuple(column[i : i + 1] for column in batch))


def main(agent_class=OneByOne, steps: int = 2400) -> None:
    torch.manual_seed(0)
    env = gym.make("CartPole-v1")
    agent = agent_class(4, 2)
    buffer = ReplayBuffer(10_000, (4,))
    obs, _ = env.reset(seed=0)
    for step in range(steps):
        action = agent.act(obs)
        next_obs, reward, terminated, truncated, _ = env.step(action)
        buffer.push(obs, action, reward, next_obs, terminated)
        obs = next_obs
        if terminated or truncated:
            obs, _ = env.reset()
        if step >= 100 and step % 4 == 0:
            agent.train_step(buffer.sample(32))


if __name__ == "__main__":
    main()
