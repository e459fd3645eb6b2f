"""Recurrent REINFORCE whose network runs one timestep at a time over stored sequences."""

# plants: stepwise-recurrence @ h = self.cell(
import sys

import gymnasium as gym
import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.gru = nn.GRUCell(4, 64), nn.GRU(4, 64)
        self.head = nn.Linear(64, 2)

    def act(self, obs, h):
        h = self.cell(torch.as_tensor(obs)[None], h)
        return self.head(h), h

    def whole(self, sequence):
        if FIXED:
            return self.head(self.gru(sequence)[0])
        h, out = torch.zeros(sequence.shape[1], 64), []
        for t in range(len(sequence)):
            h = self.cell(sequence[t], h)
            out.append(self.head(h))
        return torch.stack(out)


env = gym.make("CartPole-v1")
net = Memory()
opt = torch.optim.Adam(net.parameters(), 1e-3, fused=True)
for _iteration in range(25):
    sequences, actions, returns = [], [], []
    for _ in range(4):
        obs, _ = env.reset()
        h, done, seen, did, got = torch.zeros(1, 64), False, [], [], []
        while not done:
            with torch.no_grad():
                logits, h = net.act(obs, h)
                action = int(torch.multinomial(logits.softmax(-1)[0], 1))
            seen.append(obs)
            did.append(action)
            obs, reward, terminated, truncated, _ = env.step(action)
            got.append(float(reward))
            done = terminated or truncated
        sequences.append(seen)
        actions.append(did)
        returns.append(np.cumsum(got[::-1])[::-1])
    longest = max(map(len, sequences))
    batch = torch.zeros(longest, 4, 4)
    chosen, weight = torch.zeros(longest, 4, dtype=torch.long), torch.zeros(longest, 4)
    for k in range(4):
        n = len(sequences[k])
        batch[:n, k] = torch.from_numpy(np.array(sequences[k]))
        chosen[:n, k] = torch.tensor(actions[k])
        weight[:n, k] = torch.from_numpy(returns[k].astype(np.float32).copy())
    for _ in range(8):
        logp = net.whole(batch).log_softmax(-1).gather(2, chosen[..., None])[..., 0]
        opt.zero_grad()
        (-(logp * weight).sum() / 100).backward()
        opt.step()
