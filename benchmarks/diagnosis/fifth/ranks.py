# plants: small-data-parallel @ DistributedDataParallel(
"""Behaviour cloning of a small controller on two ranks with gloo."""

import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

FIXED = "--fixed" in sys.argv
UPDATES = 2500


def expert(x):
    return torch.stack([torch.sin(x[:, 0]) * x[:, 1], x[:, 2:6].mean(1)], 1)


def work(rank, world):
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    net = nn.Sequential(
        nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)
    )
    if world > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(29000 + os.getppid() % 900))
        dist.init_process_group("gloo", rank=rank, world_size=world)
        net = DistributedDataParallel(net)
    states = torch.randn(50000, 12)
    actions = expert(states)
    batch = 128 // world
    optimizer = torch.optim.Adam(net.parameters(), 1e-3, fused=True)
    start = time.perf_counter()
    for _ in range(UPDATES):
        rows = torch.randint(0, len(states), (batch,))
        loss = nn.functional.mse_loss(net(states[rows]), actions[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    seconds = time.perf_counter() - start
    if rank == 0:
        print(f"{UPDATES * batch * world / seconds:.1f} samples/s, loss {float(loss):.4f}")
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    if FIXED:
        work(0, 1)
    else:
        mp.spawn(work, args=(2,), nprocs=2)
