# plants: nothing
"""PPO stabilises the Kuramoto-Sivashinsky equation; two solvers run in processes of their own."""
import argparse
import time

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
from gymnasium import spaces


class Stroemung(gym.Env):
    """u_t = -u u_x - u_xx - u_xxxx + actuation, spectral, ETDRK2."""

    def __init__(self, n=256, teilschritte=60):
        self.n, self.m, self.dt = n, teilschritte, 0.02
        k = 2 * np.pi * np.fft.rfftfreq(n, d=22.0 / n)
        self.ik, lin = 1j * k, k ** 2 - k ** 4
        self.e = np.exp(self.dt * lin)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.f1 = np.where(lin == 0, self.dt, (self.e - 1) / lin)
            self.f2 = np.where(lin == 0, self.dt / 2, (self.e - 1 - self.dt * lin) / (self.dt * lin ** 2))
        x = np.linspace(0, 22, n, endpoint=False)
        self.duesen = np.stack([np.exp(-0.5 * ((x - c) / 0.8) ** 2) for c in (2.75, 8.25, 13.75, 19.25)])
        self.observation_space = spaces.Box(-np.inf, np.inf, (16,), np.float32)
        self.action_space = spaces.Box(-1, 1, (4,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.v = np.fft.rfft(self.np_random.normal(0, 0.5, self.n))
        self.t = 0
        return self.sicht(), {}

    def sicht(self):
        self.u = np.fft.irfft(self.v, self.n)
        return self.u[::self.n // 16].astype(np.float32)

    def nichtlinear(self, v, kraft):
        return -0.5 * self.ik * np.fft.rfft(np.fft.irfft(v, self.n) ** 2) + kraft

    def step(self, a):
        kraft = np.fft.rfft(np.clip(a, -1, 1) @ self.duesen)
        v = self.v
        for _ in range(self.m):
            n0 = self.nichtlinear(v, kraft)
            b = self.e * v + self.f1 * n0
            v = b + self.f2 * (self.nichtlinear(b, kraft) - n0)
        self.v = v
        o = self.sicht()
        self.t += 1
        return o, float(-np.mean(self.u ** 2) - 0.05 * np.mean(a ** 2)), False, self.t >= 200, {}


class Akteur(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 4))
        self.v = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
        self.ls = nn.Parameter(torch.full((4,), -0.7))

    def logp(self, o, a):
        z = (a - self.mu(o)) / self.ls.exp()
        return (-0.5 * z * z - self.ls - 0.919).sum(-1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--fixed", action="store_true")
    p.add_argument("--runden", type=int, default=10)
    a = p.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    env = gym.vector.AsyncVectorEnv([Stroemung, Stroemung], context="fork")
    netz = Akteur()
    opt = torch.optim.Adam(netz.parameters(), 3e-4, fused=True)
    o, _ = env.reset(seed=1)
    t0, schritte = time.perf_counter(), 0
    for runde in range(a.runden):
        O, A, L, R, V = [], [], [], [], []
        for _ in range(256):
            with torch.no_grad():
                x = torch.from_numpy(o)
                act = netz.mu(x) + netz.ls.exp() * torch.randn(2, 4)
                O.append(x), A.append(act), L.append(netz.logp(x, act)), V.append(netz.v(x)[:, 0])
            o, r, _, _, _ = env.step(act.numpy())
            R.append(torch.from_numpy(r.astype(np.float32)))
            schritte += 2
        with torch.no_grad():
            v, adv, G = netz.v(torch.from_numpy(o))[:, 0], 0.0, []
            for t in range(255, -1, -1):
                adv = R[t] + 0.98 * v - V[t] + 0.98 * 0.95 * adv
                v = V[t]
                G.append(adv)
        G = torch.stack(G[::-1]).flatten()
        O, A, L, Z = torch.cat(O), torch.cat(A), torch.cat(L), G + torch.cat(V)
        G = (G - G.mean()) / G.std()
        for _ in range(6):
            for i in torch.randperm(len(O)).split(128):
                q = (netz.logp(O[i], A[i]) - L[i]).exp()
                f = -torch.min(q * G[i], q.clamp(0.8, 1.2) * G[i]).mean() + 0.5 * (netz.v(O[i])[:, 0] - Z[i]).pow(2).mean()
                opt.zero_grad()
                f.backward()
                opt.step()
        print(f"runde {runde} belohnung {torch.stack(R).mean():.3f}", flush=True)
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={schritte}")
    env.close()


if __name__ == "__main__":
    main()
