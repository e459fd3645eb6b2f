"""A bandit-style contextual agent that saves weights and history every twenty updates."""

# plants: checkpointing @ torch.save(
import os
import sys
import tempfile

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
rng = np.random.default_rng(3)
truth = rng.normal(size=(32, 5)).astype(np.float32)
model = nn.Sequential(
    nn.Linear(32, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 5)
)
opt = torch.optim.Adam(model.parameters(), 1e-3, fused=True)
rewards = []


def rescue(path):
    torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "rewards": rewards}, path)


with tempfile.TemporaryDirectory() as folder:
    for round in range(900):
        context = rng.normal(size=(64, 32)).astype(np.float32)
        x = torch.from_numpy(context)
        with torch.no_grad():
            arm = model(x).argmax(1)
        reward = torch.from_numpy(context @ truth)[torch.arange(64), arm]
        rewards.append(float(reward.mean()))
        loss = (model(x)[torch.arange(64), arm] - reward).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if round % (300 if FIXED else 5) == 0:
            rescue(os.path.join(folder, "latest.pt"))
