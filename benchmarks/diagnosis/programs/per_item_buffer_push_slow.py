"""128 environments as tensors, stored one at a time."""

import numpy as np
import torch
from _training import DQN, ReplayBuffer

ENVS = 128


class VectorWalk:
    """All walks in a few array operations."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.state = self.rng.normal(size=(ENVS, 8)).astype(np.float32)

    def reset(self):
        return torch.from_numpy(self.state.copy())

    def step(self, actions):
        self.state += self.rng.normal(0, 0.1, self.state.shape).astype(np.float32)
        self.state[:, 0] += 0.2 * (actions.numpy() - 1)
        rewards = -np.abs(self.state[:, 0])
        done = rewards < -4
        self.state[done] = 0
        tensors = (self.state.copy(), rewards.astype(np.float32), done)
        return tuple(torch.from_numpy(each) for each in tensors)


def store(buffer, obs, actions, rewards, next_obs, done) -> None:
    for i in range(ENVS):
        buffer.push(
            obs[i].numpy(), actions[i].item(), rewards[i].item(), next_obs[i].numpy(),
            float(done[i].item()),
        )  # fmt: skip


def main(store=store, steps: int = 1500) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    env, agent, buffer = VectorWalk(), DQN(8, 3), ReplayBuffer(50_000, (8,))
    obs = env.reset()
    for step in range(steps):
        with torch.no_grad():
            actions = agent.online(obs).argmax(1)
        next_obs, rewards, done = env.step(actions)
        store(buffer, obs, actions, rewards, next_obs, done)
        obs = next_obs
        if step > 5:
            agent.train_step(buffer.sample(128))


if __name__ == "__main__":
    main()
