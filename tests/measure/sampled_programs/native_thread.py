"""The main thread waits while a native thread of torch's own pool computes for it."""

import time

import torch


@torch.jit.script
def repeat(a: torch.Tensor) -> torch.Tensor:
    for _ in range(20):
        a = (a @ a).tanh()
    return a


@torch.jit.script
def elsewhere(a: torch.Tensor) -> torch.Tensor:
    return torch.jit.wait(torch.jit.fork(repeat, a))


def main():
    torch.set_num_threads(1)
    a = torch.ones(300, 300)
    end = time.perf_counter() + 3
    while time.perf_counter() < end:
        elsewhere(a)  # hot: native


main()
