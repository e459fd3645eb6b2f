"""Double DQN for a batch of balancing carts, the whole batch stepped with array arithmetic."""

# plants: nothing
import argparse
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)  # networks of a few thousand weights


class Carts:
    """64 cart-poles at once, each with its own clock; a fallen one starts again."""

    def __init__(self, n, seed):
        self.n, self.rng = n, np.random.default_rng(seed)
        self.s = self.rng.uniform(-0.05, 0.05, (n, 4)).astype(np.float32)
        self.age = np.zeros(n, np.int64)

    def step(self, a):
        x, v, th, om = self.s.T
        force = np.where(a == 1, 10.0, -10.0)
        sin, cos = np.sin(th), np.cos(th)
        tmp = (force + 0.05 * om**2 * sin) / 1.1
        acc = (9.8 * sin - cos * tmp) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        xacc = tmp - 0.05 * acc * cos / 1.1
        nxt = np.stack([x + 0.02 * v, v + 0.02 * xacc, th + 0.02 * om, om + 0.02 * acc], 1).astype(
            np.float32
        )
        fell = (np.abs(nxt[:, 0]) > 2.4) | (np.abs(nxt[:, 2]) > 0.21)
        self.age += 1
        over = fell | (self.age >= 500)
        self.s = nxt.copy()
        k = int(over.sum())
        ages = self.age[over]
        if k:
            self.s[over] = self.rng.uniform(-0.05, 0.05, (k, 4))
            self.age[over] = 0
        return nxt, fell, ages


class Ring:
    def __init__(self, size):
        self.size, self.at, self.full = size, 0, 0
        self.s, self.s2 = torch.zeros(size, 4), torch.zeros(size, 4)
        self.a, self.d = torch.zeros(size, dtype=torch.int64), torch.zeros(size)

    def extend(self, s, a, s2, d):
        n = len(a)
        k = slice(self.at, self.at + n)
        self.s[k], self.a[k], self.s2[k], self.d[k] = s, a, s2, d
        self.at = (self.at + n) % self.size
        self.full = min(self.full + n, self.size)

    def sample(self, n):
        k = torch.randint(self.full, (n,))
        return self.s[k], self.a[k], self.s2[k], self.d[k]


def net():
    return nn.Sequential(
        nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2)
    )


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=350000)
    ap.add_argument(
        "--fixed", action="store_true", help="no effect, there is nothing to switch off"
    )
    ap.add_argument("--learning-starts", type=int, default=100_000)
    args = ap.parse_args()
    torch.manual_seed(0)
    n = 64
    carts, ring = Carts(n, 0), Ring(64 * 1600)
    q, target = net(), net()
    target.load_state_dict(q.state_dict())
    src, dst = [p.data for p in q.parameters()], [p.data for p in target.parameters()]
    opt = torch.optim.Adam(q.parameters(), lr=5e-4, fused=True)
    rng = np.random.default_rng(1)
    steps, ages, shown = 0, [], 0
    start = time.perf_counter()
    while steps < args.steps:
        s = torch.from_numpy(carts.s)
        with torch.no_grad():
            a = q(s).argmax(1).numpy()
        eps = max(0.02, 1 - steps / 200_000)
        a = np.where(rng.random(n) < eps, rng.integers(0, 2, n), a)
        s2, fell, done_ages = carts.step(a)
        ages.extend(done_ages)
        ring.extend(s, torch.from_numpy(a), torch.from_numpy(s2), torch.from_numpy(fell))
        steps += n
        if steps >= args.learning_starts:
            bs, ba, bs2, bd = ring.sample(512)
            with torch.no_grad():
                best = q(bs2).argmax(1, keepdim=True)
                y = 1.0 + 0.99 * (1 - bd) * target(bs2).gather(1, best).squeeze(1)
            loss = F.smooth_l1_loss(q(bs).gather(1, ba[:, None]).squeeze(1), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            torch._foreach_lerp_(dst, src, 0.01)
        if steps - shown >= 50_000:
            print(steps, "episode length", round(float(np.mean(ages[-200:])), 1))
            shown = steps
    print(f"loop_s {time.perf_counter() - start:.3f} steps {steps}")


if __name__ == "__main__":
    main()
