"""The same updates in one process, on the batches of both ranks."""

import torch
from _ranks import make_policy, train

if __name__ == "__main__":
    torch.set_num_threads(1)
    train(make_policy(), iterations=60, length=128, batch=16)
