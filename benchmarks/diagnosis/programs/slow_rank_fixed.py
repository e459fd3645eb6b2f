"""The same evaluation, once at the end instead of after every rollout."""

import torch
from _ranks import in_ranks, train


def work(rank, model) -> None:
    train(model, iterations=40, length=128, batch=64, seed=rank)


if __name__ == "__main__":
    torch.set_num_threads(1)
    in_ranks(work)
