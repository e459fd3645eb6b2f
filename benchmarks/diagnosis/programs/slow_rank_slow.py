"""Rank 0 evaluates and writes a log after every rollout while the other rank waits."""

import json

import torch
from _environments import Walk
from _ranks import in_ranks, rollout, train


def work(rank, model) -> None:
    env = Walk()

    def write_log(iteration: int) -> None:
        if rank == 0:
            obs, _ = env.reset()
            for _ in range(6):
                obs, (seen, _, returns) = rollout(env, model.module, obs, 128)
            with open("log.jsonl", "a") as file:
                file.write(json.dumps([iteration, returns.tolist(), seen.tolist()]) + "\n")

    train(model, iterations=40, length=128, batch=64, after=write_log, seed=rank)


if __name__ == "__main__":
    torch.set_num_threads(1)
    in_ranks(work)
