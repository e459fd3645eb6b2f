# plants: missing-no-grad @ members = [m(
"""Planning by random shooting through an ensemble of learned models; the rollouts need no
gradient.
"""

import contextlib
import sys
import time

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
FIXED = "--fixed" in sys.argv


class Puck:
    """A puck on ice with walls."""

    def reset(self):
        self.p, self.v, self.t = np.random.uniform(-1, 1, 2), np.zeros(2), 0
        return np.concatenate([self.p, self.v]).astype(np.float32)

    def step(self, a):
        self.v = 0.98 * self.v + 0.05 * np.asarray(a)
        self.p = self.p + 0.1 * self.v
        out = np.abs(self.p) > 1.5
        self.v[out] *= -0.8
        self.t += 1
        return np.concatenate([self.p, self.v]).astype(np.float32), self.t >= 50


def model():
    return nn.Sequential(
        nn.Linear(6, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 4)
    )


ensemble = nn.ModuleList(model() for _ in range(4))
optimizer = torch.optim.Adam(ensemble.parameters(), 1e-3, fused=True)


def imagine(state, plans):
    """Return of each plan: mean over the ensemble, with a penalty for disagreement."""
    s = torch.from_numpy(state).expand(len(plans), 4)
    total = 0.0
    for t in range(plans.shape[1]):
        x = torch.cat([s, plans[:, t]], 1)
        members = [m(x) for m in ensemble]
        stack = torch.stack(members)
        s = s + stack.mean(0)
        total = total - s[:, :2].norm(dim=1) - 0.1 * stack.std(0).mean(1)
    return total


def main():
    env, steps, start = Puck(), 0, time.perf_counter()
    state = env.reset()
    memory = np.zeros((20000, 10), np.float32)
    while time.perf_counter() - start < 8:
        plans = torch.rand(64, 12, 2) * 2 - 1
        with torch.no_grad() if FIXED else contextlib.nullcontext():
            best = int(imagine(state, plans).argmax())
        action = plans[best, 0].numpy()
        after, over = env.step(action)
        memory[steps % 20000] = np.concatenate([state, action, after - state])
        state = env.reset() if over else after
        steps += 1
        if steps > 64 and steps % 8 == 0:
            rows = torch.from_numpy(memory[np.random.randint(0, min(steps, 20000), (4, 64))])
            loss = sum(
                (m(r[:, :6]) - r[:, 6:]).pow(2).mean() for m, r in zip(ensemble, rows, strict=True)
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s")


main()
