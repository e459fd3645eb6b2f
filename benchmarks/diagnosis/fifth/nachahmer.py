# plants: nothing
"""Healthy: imitation of a planner by a wide network; nearly all of the time is matrix products."""

import time

import torch
from torch import nn

torch.manual_seed(0)


def planner(x):
    """An expensive-looking expert that is computed once."""
    a = torch.tanh(x[:, :64] * x[:, 64:128])
    return torch.stack([a.sum(1), a.pow(2).sum(1), x.mean(1), x.std(1)], 1)


class Student(nn.Module):
    def __init__(self, width=768):
        super().__init__()
        self.first = nn.Linear(128, width)
        self.middle = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.last = nn.Linear(width, 4)

    def forward(self, x):
        x = torch.relu(self.first(x))
        for layer in self.middle:
            x = x + torch.relu(layer(x))
        return self.last(x)


def main():
    states = torch.randn(20000, 128)
    actions = planner(states)
    student = Student()
    optimizer = torch.optim.AdamW(student.parameters(), 3e-4, fused=True)
    samples, start = 0, time.perf_counter()
    while time.perf_counter() - start < 7:
        for rows in torch.randperm(len(states)).split(1024):
            loss = nn.functional.mse_loss(student(states[rows]), actions[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            samples += len(rows)
            if time.perf_counter() - start > 7:
                break
    print(f"{samples / (time.perf_counter() - start):.1f} samples/s")


main()
