"""Two actors and a learner that makes an update of every single transition they send."""

import multiprocessing as mp

import numpy as np
import torch
from _environments import Walk
from _training import network
from torch import nn

CHUNK = 32


def play(number: int, chunks: mp.Queue) -> None:
    torch.set_num_threads(1)
    env, policy = Walk(), network(8, 3)
    obs, _ = env.reset(seed=number)
    while True:
        rows = []
        for _ in range(CHUNK):
            with torch.no_grad():
                logits = policy(torch.as_tensor(obs)[None])[0]
            action = int(torch.distributions.Categorical(logits=logits).sample())
            after, reward, terminated, truncated, _ = env.step(action)
            rows.append((obs, action, reward))
            obs = env.reset()[0] if terminated or truncated else after
        chunks.put(rows)


def learn(chunks: mp.Queue, count: int, rows_at_once: int) -> None:
    policy = network(8, 3)
    optimizer = torch.optim.Adam(policy.parameters(), 3e-4, fused=True)
    for _ in range(count):
        seen, taken, rewards = (np.asarray(c) for c in zip(*chunks.get(), strict=True))
        returns = np.cumsum(rewards[::-1])[::-1].astype(np.float32)
        for first in range(0, CHUNK, rows_at_once):
            part = slice(first, first + rows_at_once)
            log = torch.log_softmax(policy(torch.from_numpy(seen[part])), -1)
            chosen = log.gather(1, torch.from_numpy(taken[part])[:, None]).squeeze(1)
            loss = -(chosen * torch.from_numpy(returns[part].copy())).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()


def main(count: int = 300, rows_at_once: int = 1) -> None:
    chunks: mp.Queue = mp.Queue(4)
    players = [mp.Process(target=play, args=(i, chunks), name=f"actor-{i}") for i in range(2)]
    for player in players:
        player.start()
    learn(chunks, count, rows_at_once)
    for player in players:
        player.terminate()
        player.join()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
