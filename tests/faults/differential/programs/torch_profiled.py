"""A profile function sees the calls of a training step, and no others."""

# shares: torch
import sys

import torch

network = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
data = torch.ones(1, 2)


def step():
    optimizer.zero_grad()
    loss = network(data).sum() * torch.tensor([1.0])
    loss.backward()
    optimizer.step()
    return loss.item(), data.to("cpu"), torch.as_tensor([2.0])


events = []


def note(frame, event, argument):
    events.append((event, argument.__name__ if event.startswith("c_") else frame.f_code.co_name))


for _ in range(3):
    step()
sys.setprofile(note)
step()
sys.setprofile(None)
print(*events, sep="\n")
