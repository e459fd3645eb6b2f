"""Six agents share a world of dicts; every transition is a gradient step of its own."""

# plants: per-sample-update @ improve(
import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
AGENTS = [f"scout_{i}" for i in range(6)]


class World:
    def begin(self):
        self.where = {name: np.random.randn(8).astype(np.float32) for name in AGENTS}
        self.clock = 0
        return dict(self.where)

    def advance(self, moves):
        self.clock += 1
        for name, move in moves.items():
            self.where[name] = 0.98 * self.where[name]
            self.where[name][move] += 0.1
        reward = {name: -float(np.abs(at).sum()) for name, at in self.where.items()}
        return dict(self.where), reward, self.clock >= 50


brain = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 8))
optimizer = torch.optim.Adam(brain.parameters(), 1e-3, fused=True)


def improve(before, move, reward, after):
    with torch.no_grad():
        goal = reward + 0.9 * brain(after).max(-1).values
    value = brain(before).gather(-1, move)[..., 0]
    loss = (value - goal).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def stacked(rows):
    return torch.from_numpy(np.stack([rows[name] for name in AGENTS]))


world = World()
for _episode in range(30):
    now, over = world.begin(), False
    while not over:
        with torch.no_grad():
            best = brain(stacked(now)).argmax(1).tolist()
        moves = dict(zip(AGENTS, best, strict=True))
        later, reward, over = world.advance(moves)
        if FIXED:
            got = torch.tensor([reward[name] for name in AGENTS])
            improve(stacked(now), torch.tensor(best)[:, None], got, stacked(later))
        else:
            for name in AGENTS:
                improve(
                    torch.from_numpy(now[name])[None],
                    torch.tensor([[moves[name]]]),
                    torch.tensor([reward[name]]),
                    torch.from_numpy(later[name])[None],
                )
        now = later
