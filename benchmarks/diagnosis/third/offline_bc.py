"""Return-conditioned behaviour cloning from logged trajectories with a torch DataLoader."""

# plants: loader-bound @ rtg = returns_to_go(tr["rew"])
import argparse
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, RandomSampler


def make_log(n_traj=300, seed=0):
    """A noisy controller that drives a point to the origin, logged with its rewards."""
    rng = np.random.default_rng(seed)
    trajs = []
    for _ in range(n_traj):
        length = int(rng.integers(250, 400))
        skill = rng.uniform(0.0, 1.0)
        s = rng.normal(size=6)
        obs, act, rew = [], [], []
        for _ in range(length):
            a = np.clip(-skill * s[:3] - 0.5 * s[3:] + 0.4 * rng.normal(size=3), -1, 1)
            obs.append(s.copy())
            act.append(a)
            s[3:] = 0.9 * s[3:] + 0.1 * a
            s[:3] += 0.1 * s[3:]
            rew.append(-float(s[:3] @ s[:3]))
        trajs.append(
            {
                "obs": np.array(obs, np.float32),
                "act": np.array(act, np.float32),
                "rew": np.array(rew, np.float32),
            }
        )
    return trajs


def returns_to_go(rew, gamma=0.99):
    out = np.zeros_like(rew)
    run = 0.0
    for t in reversed(range(len(rew))):
        run = rew[t] + gamma * run
        out[t] = run
    return out


class TrajectoryDataset(Dataset):
    """Windows of `context` steps; the target is the action at the end of each window."""

    def __init__(self, trajs, context=8, prepare=False):
        self.trajs = trajs
        self.context = context
        self.prepare = prepare
        self.index = [(i, t) for i, tr in enumerate(trajs) for t in range(context, len(tr["obs"]))]
        obs = np.concatenate([tr["obs"] for tr in trajs])
        self.mean, self.std = obs.mean(0), obs.std(0) + 1e-6
        if prepare:
            for tr in trajs:
                tr["rtg"] = returns_to_go(tr["rew"])
                tr["norm"] = (tr["obs"] - self.mean) / self.std

    def __len__(self):
        return len(self.index)

    def __getitem__(self, k):
        i, t = self.index[k]
        tr = self.trajs[i]
        if self.prepare:
            rtg, obs = tr["rtg"], tr["norm"]
        else:
            rtg = returns_to_go(tr["rew"])
            obs = (tr["obs"] - self.mean) / self.std
        window = obs[t - self.context + 1 : t + 1].ravel()
        x = np.append(window, rtg[t] / 50.0).astype(np.float32)
        return torch.from_numpy(x), torch.from_numpy(tr["act"][t])


class Policy(nn.Module):
    def __init__(self, n_in, n_out, width=256):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, width),
            nn.LayerNorm(width),
            nn.GELU(),
            nn.Linear(width, width),
            nn.LayerNorm(width),
            nn.GELU(),
            nn.Linear(width, n_out),
            nn.Tanh(),
        )

    def forward(self, x):
        return self.net(x)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=700, help="gradient steps")
    p.add_argument("--fixed", action="store_true")
    p.add_argument("--batch", type=int, default=256)
    a = p.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)

    data = TrajectoryDataset(make_log(), prepare=a.fixed)
    sampler = RandomSampler(data, replacement=True, num_samples=a.steps * a.batch)
    loader = DataLoader(data, batch_size=a.batch, sampler=sampler, num_workers=1)
    policy = Policy(8 * 6 + 1, 3)
    opt = torch.optim.AdamW(policy.parameters(), lr=3e-4, fused=True)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, a.steps)

    running = 0.0
    start = time.perf_counter()
    for step, (x, y) in enumerate(loader, 1):
        loss = F.mse_loss(policy(x), y)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        sched.step()
        running += loss.detach()
        if step % 100 == 0:
            print(f"step {step} loss {running.item() / 100:.4f}")
            running = 0.0
    print(f"loop_s {time.perf_counter() - start:.3f} steps {step}")


if __name__ == "__main__":
    main()
