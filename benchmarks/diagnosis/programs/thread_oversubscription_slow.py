"""Workers that each learn with torch's threads as if they had the machine to themselves."""

import gymnasium as gym
import torch
import torch.multiprocessing as mp
from _training import DQN, ReplayBuffer


def worker(threads: int, steps: int, seed: int) -> None:
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    env = gym.make("CartPole-v1")
    agent = DQN(4, 2, hidden=256)
    buffer = ReplayBuffer(10_000, (4,))
    obs, _ = env.reset(seed=seed)
    for step in range(steps):
        action = agent.act(obs)
        next_obs, reward, terminated, truncated, _ = env.step(action)
        buffer.push(obs, action, reward, next_obs, terminated)
        obs = next_obs
        if terminated or truncated:
            obs, _ = env.reset()
        if step >= 100 and step % 2 == 0:
            agent.train_step(buffer.sample(256))


def main(threads: int = 8, steps: int = 1200, others: int = 1) -> None:
    processes = [mp.Process(target=worker, args=(threads, steps, 1 + i)) for i in range(others)]
    for process in processes:
        process.start()
    worker(threads, steps, 0)
    for process in processes:
        process.join()


if __name__ == "__main__":
    main()
