"""Ape-X: a learner and two actors whose simulator answers after some milliseconds."""

import multiprocessing as mp
import time

import numpy as np
import torch
from _environments import Walk
from _training import DQN, ReplayBuffer

CHUNK = 16


class Remote(Walk):
    """A simulator in another program: most of a step is waiting for its answer."""

    def step(self, action):
        time.sleep(0.004)
        return super().step(action)


def play(number: int, chunks: mp.Queue) -> None:
    torch.set_num_threads(1)
    env, agent = Remote(), DQN(8, 3)
    obs, _ = env.reset(seed=number)
    rows = []
    while True:
        action = agent.act(obs)
        after, reward, terminated, truncated, _ = env.step(action)
        rows.append((obs, action, reward, after, terminated))
        obs = env.reset()[0] if terminated or truncated else after
        if len(rows) == CHUNK:
            chunks.put(rows)
            rows = []


def learn(chunks: mp.Queue, count: int) -> None:
    agent, buffer = DQN(8, 3), ReplayBuffer(20_000, (8,))
    for _ in range(count):
        columns = zip(*chunks.get(), strict=True)
        buffer.push_batch(*(np.asarray(column) for column in columns))
        for _ in range(2):
            agent.train_step(buffer.sample(64))


def main(actors: int = 2, count: int = 250) -> None:
    chunks: mp.Queue = mp.Queue(64)
    players = [mp.Process(target=play, args=(i, chunks), name=f"actor-{i}")
               for i in range(actors)]  # fmt: skip
    for player in players:
        player.start()
    learn(chunks, count)
    for player in players:
        player.terminate()
        player.join()


if __name__ == "__main__":
    main()
