# plants: stepwise-recurrence @ for x, m in zip(xs.unbind(1), keep.unbind(1)):
"""Recurrent DQN (stored sequences with burn-in) on a memory task."""
import abc
import argparse
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class SequenceModel(nn.Module, abc.ABC):
    def __init__(self, d_in, d_h, n_out):
        super().__init__()
        self.enc = nn.Linear(d_in, d_h)
        self.rnn = nn.GRU(d_h, d_h, batch_first=True)
        self.out = nn.Linear(d_h, n_out)

    def forward(self, xs, h=None, keep=None):
        ys, h = self.roll(F.relu(self.enc(xs)), h, keep)
        return self.out(ys), h

    @abc.abstractmethod
    def roll(self, xs, h, keep): ...


class Careful(SequenceModel):
    def roll(self, xs, h, keep):
        if h is None:
            h = xs.new_zeros(1, xs.shape[0], self.rnn.hidden_size)
        if keep is None:
            keep = xs.new_ones(xs.shape[:2])
        ys = []
        for x, m in zip(xs.unbind(1), keep.unbind(1)):
            y, h = self.rnn(x[:, None], h * m[None, :, None])
            ys.append(y)
        return torch.cat(ys, 1), h


class Whole(SequenceModel):
    def roll(self, xs, h, keep):
        return self.rnn(xs, h)


class Recall:
    """A symbol is shown, noise follows, then the symbol is asked for."""

    def __init__(self, rng, length=48, symbols=4):
        self.rng, self.n, self.k = rng, length, symbols

    def reset(self):
        self.s, self.t = int(self.rng.integers(self.k)), 0
        return self.obs()

    def obs(self):
        x = np.zeros(self.k + 3, np.float32)
        if self.t == 0:
            x[self.s] = 1
        x[self.k], x[self.k + 1] = self.t / self.n, float(self.t == self.n - 1)
        x[self.k + 2] = self.rng.normal() * 0.1
        return x

    def step(self, a):
        last = self.t == self.n - 1
        r = float(a == self.s) if last else -0.01 * float(a != 0)
        self.t += 1
        return self.obs(), r, last


def run():
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--episodes", type=int, default=170)
    ap.add_argument("--batch", type=int, default=16)
    args = ap.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    env = Recall(rng)
    Model = Whole if args.fixed else Careful
    net, target = Model(7, 48, 4), Model(7, 48, 4)
    target.load_state_dict(net.state_dict())
    opt = torch.optim.Adam(net.parameters(), 1e-3, fused=True)
    T = env.n
    X, A, R = (np.zeros((2000, T) + s, d) for s, d in (((7,), np.float32), ((), np.int64), ((), np.float32)))
    n, won, t0 = 0, [], time.perf_counter()
    for ep in range(args.episodes):
        o, h, end = env.reset(), None, False
        i = n % 2000
        while not end:
            t = env.t
            with torch.no_grad():
                qv, h = net(torch.from_numpy(o)[None, None], h)
            a = int(rng.integers(4)) if rng.random() < max(0.1, 1 - ep / 100) else int(qv.argmax())
            X[i, t], A[i, t] = o, a
            o, r, end = env.step(a)
            R[i, t] = r
        n += 1
        won.append(r)
        if n < 20:
            continue
        for _ in range(4):
            j = rng.integers(0, min(n, 2000), args.batch)
            x, a, r = (torch.from_numpy(z[j]) for z in (X, A, R))
            q, _ = net(x)
            with torch.no_grad():
                tq, _ = target(x)
                nxt = F.pad(tq[:, 1:].max(-1).values, (0, 1))
            loss = F.smooth_l1_loss(q.gather(2, a[..., None])[..., 0], r + 0.95 * nxt)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            opt.step()
        if ep % 20 == 0:
            target.load_state_dict(net.state_dict())
    print(f"won of the last 50: {np.mean(won[-50:]):.2f}")
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={args.episodes * T}")


if __name__ == "__main__":
    run()
