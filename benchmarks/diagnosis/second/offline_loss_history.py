"""Behaviour cloning from a fixed data set: no environment, and a running loss keeps its graph."""

# plants: graph-retained @ running = 0.99 * running + 0.01 * loss
import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
rng = np.random.default_rng(1)
observations = torch.from_numpy(rng.normal(size=(20_000, 17)).astype(np.float32))
expert = torch.tanh(observations @ torch.from_numpy(rng.normal(size=(17, 6)).astype(np.float32)))
policy = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 6), nn.Tanh())
optimizer = torch.optim.SGD(policy.parameters(), lr=1e-3)
running = torch.zeros(())

for step in range(400):
    rows = torch.randint(0, len(observations), (128,))
    loss = (policy(observations[rows]) - expert[rows]).pow(2).mean()
    optimizer.zero_grad()
    if FIXED:
        loss.backward()
        running = 0.99 * running + 0.01 * loss.detach()
    else:
        running = 0.99 * running + 0.01 * loss
        running.backward(retain_graph=True)
    torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    with torch.no_grad():
        for weight in policy.parameters():
            weight.data -= 1e-3 * weight.grad
    if step % 200 == 0:
        print(step, float(running))
