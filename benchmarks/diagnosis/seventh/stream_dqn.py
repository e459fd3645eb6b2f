# plants: naive-priority-sampling @ chosen = rng.choice(len(p), size=size, replace=False, p=p)
"""Prioritised double DQN on Acrobot, with the replay expressed as a pipeline of generators."""
import argparse
import time

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F


class Store:
    def __init__(self, cap, dim):
        self.o, self.o2 = np.zeros((cap, dim), np.float32), np.zeros((cap, dim), np.float32)
        self.a, self.r, self.d = np.zeros(cap, np.int64), np.zeros(cap, np.float32), np.zeros(cap, np.float32)
        self.w = np.zeros(cap)
        self.cap, self.n, self.i = cap, 0, 0

    def put(self, o, a, r, o2, d):
        i = self.i
        self.o[i], self.a[i], self.r[i], self.o2[i], self.d[i] = o, a, r, o2, d
        self.w[i] = self.w.max() or 1.0
        self.i, self.n = (i + 1) % self.cap, min(self.n + 1, self.cap)


class SumTree:
    """Sums of blocks of 512 weights; picks with two searches."""

    def __init__(self, store):
        self.s = store

    def pick(self, rng, size):
        w = self.s.w.reshape(-1, 512)
        blocks = np.cumsum(w.sum(1))
        u = rng.random(size) * blocks[-1]
        b = np.searchsorted(blocks, u)
        rest = u - np.where(b > 0, blocks[b - 1], 0.0)
        inner = np.cumsum(w[b], axis=1)
        return np.minimum(b * 512 + (inner < rest[:, None]).sum(1), self.s.n - 1)


def indices(store, rng, size, tree=None):
    while True:
        if tree is not None:
            yield tree.pick(rng, size)
            continue
        p = store.w[:store.n] / store.w[:store.n].sum()
        chosen = rng.choice(len(p), size=size, replace=False, p=p)
        yield chosen


def weighted(store, source, beta=0.5):
    total = store.w
    for idx in source:
        prob = total[idx] / total.sum()
        iw = (store.n * prob) ** -beta
        yield idx, iw / iw.max()


def tensors(store, source):
    for idx, iw in source:
        yield idx, *(torch.from_numpy(x) for x in (
            store.o[idx], store.a[idx], store.r[idx], store.o2[idx], store.d[idx], iw.astype(np.float32)))


def mlp(i, o):
    return torch.nn.Sequential(torch.nn.Linear(i, 96), torch.nn.ReLU(), torch.nn.Linear(96, 96), torch.nn.ReLU(),
                               torch.nn.Linear(96, o))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--steps", type=int, default=9000)
    args = ap.parse_args()
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    env = gym.make("Acrobot-v1")
    q, tq = mlp(6, 3), mlp(6, 3)
    tq.load_state_dict(q.state_dict())
    opt = torch.optim.Adam(q.parameters(), 5e-4, fused=True)
    store = Store(65536, 6)
    pipe = tensors(store, weighted(store, indices(store, rng, 64, SumTree(store) if args.fixed else None)))
    o, _ = env.reset(seed=0)
    # a first fill by a random policy
    for _ in range(60000):
        a = int(rng.integers(3))
        o2, r, term, trunc, _ = env.step(a)
        store.put(o, a, r, o2, float(term))
        o = env.reset()[0] if term or trunc else o2
    score, scores, t0 = 0.0, [], time.perf_counter()
    for t in range(args.steps):
        eps = max(0.05, 1 - t / (0.5 * args.steps))
        if rng.random() < eps:
            a = int(rng.integers(3))
        else:
            with torch.no_grad():
                a = int(q(torch.from_numpy(o)[None]).argmax())
        o2, r, term, trunc, _ = env.step(a)
        store.put(o, a, r, o2, float(term))
        score += r
        o = o2
        if term or trunc:
            scores.append(score)
            score = 0.0
            o, _ = env.reset()
        if t >= 100:
            idx, bo, ba, br, bo2, bd, iw = next(pipe)
            with torch.no_grad():
                best = q(bo2).argmax(1, keepdim=True)
                y = br + 0.99 * (1 - bd) * tq(bo2).gather(1, best)[:, 0]
            err = q(bo).gather(1, ba[:, None])[:, 0] - y
            loss = (iw * F.huber_loss(err, torch.zeros_like(err), reduction="none")).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            store.w[idx] = (err.detach().abs().numpy() + 1e-3) ** 0.6
        if t % 500 == 0:
            tq.load_state_dict(q.state_dict())
    print(f"mean of last scores {np.mean(scores[-5:]) if scores else 0:.1f}")
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={args.steps}")


if __name__ == "__main__":
    main()
