"""A small policy, trained in two ranks that reduce its gradients in every update."""

from _ranks import in_ranks, train


def work(rank, model) -> None:
    train(model, iterations=60, length=64, batch=8, seed=rank)


if __name__ == "__main__":
    in_ranks(work)
