# plants: missing-no-grad @ def imagine(self, s, plans):
import argparse
import time

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn


class Member(nn.Module):
    def __init__(self, ds, da, width=64):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(ds + da, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(),
                               nn.Linear(width, ds + 1))

    def forward(self, s, a):
        out = self.f(torch.cat([s, a], -1))
        return s + out[..., :-1], out[..., -1]


class Ensemble(nn.Module):
    def __init__(self, ds, da, k=3):
        super().__init__()
        self.members = nn.ModuleList(Member(ds, da) for _ in range(k))

    def imagine(self, s, plans):
        """Mean return of each plan, over the members."""
        total = torch.zeros(plans.shape[0])
        for m in self.members:
            z = s.expand(plans.shape[0], -1)
            for t in range(plans.shape[1]):
                z, r = m(z, plans[:, t])
                total = total + r
        return total / len(self.members)


class CEM:
    def __init__(self, model, da, horizon=18, pop=48, elites=6, rounds=3, score=None):
        self.model, self.da, self.h, self.pop, self.elites, self.rounds = model, da, horizon, pop, elites, rounds
        self.score = score or model.imagine
        self.mean = torch.zeros(horizon, da)

    def act(self, s):
        mu, sd = torch.cat([self.mean[1:], torch.zeros(1, self.da)]), torch.full((self.h, self.da), 1.0)
        s = torch.as_tensor(s, dtype=torch.float32)[None]
        for _ in range(self.rounds):
            plans = (mu + sd * torch.randn(self.pop, self.h, self.da)).clamp(-2, 2)
            best = plans[self.score(s, plans).topk(self.elites).indices]
            mu, sd = best.mean(0), best.std(0) + 0.05
        self.mean = mu
        return mu[0].detach().numpy()


def fit(model, opts, data, rounds):
    s, a, r, s2 = (torch.as_tensor(np.array(x), dtype=torch.float32) for x in zip(*data))
    for m, opt in zip(model.members, opts):
        for _ in range(rounds):
            i = torch.randint(len(s), (256,))
            p, pr = m(s[i], a[i])
            loss = (p - s2[i]).pow(2).mean() + (pr - r[i]).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    return loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--episodes", type=int, default=6)
    args = ap.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    env = gym.make("Pendulum-v1")
    model = Ensemble(3, 1)
    opts = [torch.optim.Adam(m.parameters(), 1e-3, fused=True) for m in model.members]
    planner = CEM(model, 1, score=torch.no_grad()(model.imagine) if args.fixed else None)
    data, steps, t0 = [], 0, time.perf_counter()
    for ep in range(args.episodes):
        s, _ = env.reset(seed=ep)
        total = 0.0
        for t in range(200):
            a = env.action_space.sample() if ep == 0 else planner.act(s)
            s2, r, *_ = env.step(a)
            data.append((s, a, r / 8, s2))
            s, total, steps = s2, total + r, steps + 1
        loss = fit(model, opts, data, 250)
        print(f"episode {ep} return {total:.0f} model loss {loss:.4f}")
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={steps}")


if __name__ == "__main__":
    main()
