# plants: stepwise-recurrence @ out, h = self.folge(ein[:, t : t + 1], h)
# plants: gc-every-step @ gc.collect()
"""Recurrent A2C on a foggy grid: the agent sees four cells and must remember."""

import argparse
import gc
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

WIDTH, STEPS, WORLDS = 9, 48, 16


class Fog:
    def __init__(self, n, seed):
        self.g = np.random.default_rng(seed)
        self.n = n
        self.walls = self.g.random((n, WIDTH, WIDTH)) < 0.15
        self.at = self.g.integers(WIDTH, size=(n, 2))
        self.goal = self.g.integers(WIDTH, size=(n, 2))

    def look(self):
        out = np.zeros((self.n, 8), np.float32)
        k = np.arange(self.n)
        for i, (dy, dx) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
            y, x = (self.at[:, 0] + dy) % WIDTH, (self.at[:, 1] + dx) % WIDTH
            out[:, i] = self.walls[k, y, x]
            out[:, 4 + i] = (y == self.goal[:, 0]) & (x == self.goal[:, 1])
        return out

    def step(self, moves):
        d = np.array([(1, 0), (-1, 0), (0, 1), (0, -1)])[moves]
        new = (self.at + d) % WIDTH
        free = ~self.walls[np.arange(self.n), new[:, 0], new[:, 1]]
        self.at = np.where(free[:, None], new, self.at)
        there = (self.at == self.goal).all(1)
        self.goal[there] = self.g.integers(WIDTH, size=(int(there.sum()), 2))
        return self.look(), there.astype(np.float32) - 0.01


class Memory(nn.Module):
    def __init__(self, whole):
        super().__init__()
        self.whole = whole
        self.folge = nn.LSTM(8, 96, batch_first=True)
        self.pi, self.v = nn.Linear(96, 4), nn.Linear(96, 1)

    def act(self, x, h):
        out, h = self.folge(x[:, None], h)
        return self.pi(out[:, 0]), h

    def unroll(self, ein, h):
        if self.whole:
            out, _ = self.folge(ein, h)
        else:
            alle = []
            for t in range(ein.shape[1]):
                out, h = self.folge(ein[:, t : t + 1], h)
                alle.append(out)
            out = torch.cat(alle, 1)
        return self.pi(out), self.v(out).squeeze(-1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--fixed1", action="store_true")
    ap.add_argument("--fixed2", action="store_true")
    ap.add_argument("--iterations", type=int, default=24)
    a = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    world, net = Fog(WORLDS, 0), Memory(a.fixed or a.fixed1)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)
    x, h = world.look(), (torch.zeros(1, WORLDS, 96), torch.zeros(1, WORLDS, 96))
    start = time.process_time()
    for it in range(a.iterations):
        X, A, R, h0 = [], [], [], h
        for _ in range(STEPS):
            with torch.no_grad():
                logits, h = net.act(torch.from_numpy(x), h)
                move = torch.multinomial(logits.softmax(-1), 1).squeeze(1)
            X.append(torch.from_numpy(x))
            A.append(move)
            x, r = world.step(move.numpy())
            R.append(torch.from_numpy(r))
        X, A, R = torch.stack(X, 1), torch.stack(A, 1), torch.stack(R, 1)
        weights = 0.95 ** torch.arange(STEPS).float()
        lag = torch.tril(weights[(torch.arange(STEPS)[:, None] - torch.arange(STEPS)).clamp(min=0)])
        ret = R @ lag
        for _ in range(8):
            logits, v = net.unroll(X, h0)
            logp = logits.log_softmax(-1).gather(-1, A[..., None]).squeeze(-1)
            adv = (ret - v).detach()
            loss = F.mse_loss(v, ret) - (logp * adv).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        if it % 5 == 4 and not (a.fixed or a.fixed2):
            gc.collect()
        if it % 20 == 0:
            print(it, R.sum().item())
    print(f"cpu {time.process_time() - start:.2f} work {a.iterations * STEPS * WORLDS}")


if __name__ == "__main__":
    main()
