"""A territory game that floods the board in Python at every step; acting builds a graph."""

# plants: redundant-work-in-step @ stack.pop()
# plants: missing-no-grad @ logits = net(
import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
SIZE = 12


class Territory:
    def reset(self):
        self.walls = np.random.rand(SIZE, SIZE) < 0.25
        self.at, self.t, self.area = (0, 0), 0, {}
        return self.seen()

    def reachable(self):
        if FIXED and self.area:
            return len(self.area)
        stack, done = [self.at], set()
        while stack:
            x, y = stack.pop()
            if (x, y) in done:
                continue
            done.add((x, y))
            for a, b in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
                if 0 <= a < SIZE and 0 <= b < SIZE and not self.walls[a, b]:
                    stack.append((a, b))
        self.area = done
        return len(done)

    def seen(self):
        return np.append(self.walls.ravel(), [*self.at, self.reachable() / 144]).astype(np.float32)

    def step(self, move):
        x, y = self.at
        dx, dy = ((0, 1), (1, 0), (0, -1), (-1, 0))[move]
        if 0 <= x + dx < SIZE and 0 <= y + dy < SIZE and not self.walls[x + dx, y + dy]:
            self.at = (x + dx, y + dy)
        self.t += 1
        return self.seen(), sum(self.at) / 22, self.t >= 64


net = nn.Sequential(
    nn.Linear(147, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 4)
)
opt = torch.optim.Adam(net.parameters(), 1e-3, fused=True)
game = Territory()
for _round in range(110):
    obs, over, rows = game.reset(), False, []
    while not over:
        with torch.set_grad_enabled(not FIXED):
            logits = net(torch.from_numpy(obs))
        move = int(torch.multinomial(logits.detach().softmax(0), 1))
        after, reward, over = game.step(move)
        rows.append((obs, move, reward))
        obs = after
    s, a, r = zip(*rows, strict=True)
    logp = net(torch.from_numpy(np.stack(s))).log_softmax(1)[range(len(a)), a]
    loss = -(logp * torch.tensor(np.cumsum(r[::-1])[::-1].copy())).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
