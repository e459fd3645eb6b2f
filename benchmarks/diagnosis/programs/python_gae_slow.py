"""Advantages computed one number at a time from tensors."""

import numpy as np
import torch
from _environments import Walk, vector
from _training import a2c


def compute_gae(rewards, values, dones, last_value, gamma=0.99, lam=0.95):
    rewards, values = torch.as_tensor(rewards), torch.as_tensor(values)
    last_value, dones = torch.as_tensor(last_value), torch.as_tensor(dones)
    steps, envs = rewards.shape
    advantages = torch.zeros(steps, envs)
    for i in range(envs):
        last = 0.0
        for t in reversed(range(steps)):
            following = last_value[i] if t == steps - 1 else values[t + 1, i]
            alive = 1.0 - dones[t, i]
            delta = rewards[t, i] + gamma * following * alive - values[t, i]
            last = delta + gamma * lam * alive * last
            advantages[t, i] = last
    return advantages.numpy().astype(np.float64)


def main(gae=compute_gae) -> None:
    a2c(vector(Walk, 8), 400, 32, gae=gae)


if __name__ == "__main__":
    main()
