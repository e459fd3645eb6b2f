# plants: nothing
"""A small Dreamer: recurrent state-space model, imagined actor-critic, on a point in a maze of potentials."""
import argparse
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Hills:
    def __init__(self, seed):
        self.g = np.random.default_rng(seed)
        self.c = self.g.uniform(-1, 1, (4, 2))

    def reset(self):
        self.p, self.v, self.t = self.g.uniform(-1, 1, 2), np.zeros(2), 0
        return self.obs()

    def obs(self):
        d = self.p - self.c
        h = np.exp(-4 * (d ** 2).sum(1))
        return np.concatenate([self.p, self.v, h, self.g.normal(0, 0.05, 8)]).astype(np.float32)

    def step(self, a):
        d = self.p - self.c
        pull = (8 * d * np.exp(-4 * (d ** 2).sum(1))[:, None]).sum(0)
        self.v = 0.9 * self.v + 0.05 * np.clip(a, -1, 1) + 0.01 * pull
        self.p = np.clip(self.p + self.v, -1.5, 1.5)
        self.t += 1
        return self.obs(), float(np.exp(-3 * (self.p ** 2).sum())), self.t >= 100


def mlp(i, o, h=128):
    return nn.Sequential(nn.Linear(i, h), nn.ELU(), nn.Linear(h, h), nn.ELU(), nn.Linear(h, o))


class RSSM(nn.Module):
    def __init__(self, do=16, da=2, deter=128, stoch=30):
        super().__init__()
        self.deter, self.stoch = deter, stoch
        self.inp = nn.Linear(stoch + da, deter)
        self.cell = nn.GRUCell(deter, deter)
        self.prior, self.post = mlp(deter, 2 * stoch), mlp(deter + do, 2 * stoch)
        self.dec, self.rew = mlp(deter + stoch, do), mlp(deter + stoch, 1)

    @staticmethod
    def draw(x):
        m, s = x.chunk(2, -1)
        s = F.softplus(s) + 0.1
        return m + s * torch.randn_like(s), m, s

    def advance(self, h, z, a):
        return self.cell(F.elu(self.inp(torch.cat([z, a], -1))), h)

    def observe(self, o, a):
        B, T = o.shape[:2]
        h, z = o.new_zeros(B, self.deter), o.new_zeros(B, self.stoch)
        hs, zs, kl = [], [], 0.0
        for t in range(T):
            h = self.advance(h, z, a[:, t])
            _, pm, ps = self.draw(self.prior(h))
            z, qm, qs = self.draw(self.post(torch.cat([h, o[:, t]], -1)))
            kl = kl + (torch.log(ps / qs) + (qs ** 2 + (qm - pm) ** 2) / (2 * ps ** 2) - 0.5).sum(-1).mean()
            hs.append(h), zs.append(z)
        return torch.cat([torch.stack(hs, 1), torch.stack(zs, 1)], -1), kl / T


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--episodes", type=int, default=12)
    args = ap.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    env, wm = Hills(0), RSSM()
    actor, critic = mlp(158, 4), mlp(158, 1)
    ow = torch.optim.Adam(wm.parameters(), 6e-4, fused=True)
    oa = torch.optim.Adam(actor.parameters(), 2e-4, fused=True)
    oc = torch.optim.Adam(critic.parameters(), 2e-4, fused=True)
    O, A, R = (np.zeros((args.episodes, 100) + s, np.float32) for s in ((16,), (2,), ()))
    rng, steps, t0 = np.random.default_rng(0), 0, time.perf_counter()
    for ep in range(args.episodes):
        o, end, t = env.reset(), False, 0
        h, z, a = torch.zeros(1, 128), torch.zeros(1, 30), torch.zeros(1, 2)
        while not end:
            with torch.no_grad():
                h = wm.advance(h, z, a)
                z = wm.draw(wm.post(torch.cat([h, torch.from_numpy(o)[None]], -1)))[0]
                m, s = actor(torch.cat([h, z], -1)).chunk(2, -1)
                a = torch.tanh(m + (F.softplus(s) + 0.1) * torch.randn_like(m))
            O[ep, t], A[ep, t] = o, a.numpy()[0]
            o, R[ep, t], end = env.step(a.numpy()[0])
            t += 1
        steps += t
        if ep < 2:
            continue
        for _ in range(7):
            i, j = rng.integers(0, ep + 1, 16)[:, None], rng.integers(0, 84, 16)[:, None] + np.arange(16)
            bo, br = torch.from_numpy(O[i, j]), torch.from_numpy(R[i, j])
            ba = torch.from_numpy(np.concatenate([np.zeros((16, 1, 2), np.float32), A[i, j][:, :-1]], 1))
            f, kl = wm.observe(bo, ba)
            lw = (wm.dec(f) - bo).pow(2).sum(-1).mean() + (wm.rew(f)[:, 1:, 0] - br[:, :-1]).pow(2).mean() + 0.1 * kl
            ow.zero_grad()
            lw.backward()
            ow.step()
            wm.requires_grad_(False)
            critic.requires_grad_(False)
            h, z = f.detach().flatten(0, 1).split([128, 30], -1)
            feats, rs = [torch.cat([h, z], -1)], []
            for _ in range(10):
                m, s = actor(feats[-1].detach()).chunk(2, -1)
                h = wm.advance(h, z, torch.tanh(m + (F.softplus(s) + 0.1) * torch.randn_like(m)))
                z = wm.draw(wm.prior(h))[0]
                feats.append(torch.cat([h, z], -1))
                rs.append(wm.rew(feats[-1])[..., 0])
            v = [critic(x)[..., 0] for x in feats]
            g, gs = v[-1], []
            for k in range(9, -1, -1):
                g = rs[k] + 0.97 * (0.05 * v[k + 1] + 0.95 * g)
                gs.append(g)
            gs = torch.stack(gs[::-1])
            oa.zero_grad()
            (-gs.mean()).backward()
            oa.step()
            wm.requires_grad_(True)
            critic.requires_grad_(True)
            oc.zero_grad()
            F.mse_loss(critic(torch.stack(feats[:-1]).detach())[..., 0], gs.detach()).backward()
            oc.step()
        print(f"episode {ep} return {R[ep].sum():.1f} model {lw.item():.2f}", flush=True)
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={steps}")


if __name__ == "__main__":
    main()
