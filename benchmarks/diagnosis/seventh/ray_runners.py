# plants: few-envs-per-runner @ spec = RunnerSpec(envs=1)
"""PPO with Ray actors that collect and one learner, on LunarLander-like vertical landing."""
import argparse
import time
from dataclasses import dataclass

import numpy as np
import ray
import torch
import torch.nn as nn


@dataclass
class RunnerSpec:
    envs: int = 16
    horizon: int = 1024

    @property
    def rounds(self):
        return self.horizon // self.envs


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = nn.Sequential(nn.Linear(5, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh())
        self.pi, self.v = nn.Linear(128, 3), nn.Linear(128, 1)

    def forward(self, x):
        h = self.b(x)
        return self.pi(h).log_softmax(-1), self.v(h)[..., 0]


class Lander:
    def __init__(self, g):
        self.g = g
        self.reset()

    def reset(self):
        self.y, self.v, self.f, self.t = self.g.uniform(5, 10), self.g.uniform(-1, 0), 1.0, 0

    def obs(self):
        return np.array([self.y / 10, self.v, self.f, self.t / 100, 1.0], np.float32)

    def step(self, a):
        thrust = (0.0, 0.12, 0.3)[a] * (self.f > 0)
        self.f = max(0.0, self.f - 0.02 * thrust)
        self.v += thrust - 0.1
        self.y += self.v * 0.5
        self.t += 1
        if self.y <= 0:
            return (1.0 if self.v > -0.6 else -1.0 + max(-1.0, 0.2 * self.v)), True
        return -0.002, self.t >= 100 or self.y > 15


@ray.remote(num_cpus=0.5)
class Runner:
    def __init__(self, seed, spec):
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.spec = spec
        self.net = Net()
        self.envs = [Lander(np.random.default_rng(seed * 1000 + i)) for i in range(spec.envs)]

    @torch.no_grad()
    def collect(self, weights):
        self.net.load_state_dict(weights)
        E, T = self.spec.envs, self.spec.rounds
        O, A, L, V = np.zeros((T, E, 5), np.float32), np.zeros((T, E), int), np.zeros((T, E), np.float32), np.zeros((T + 1, E), np.float32)
        R, D = np.zeros((T, E), np.float32), np.zeros((T, E), np.float32)
        for t in range(T):
            o = np.stack([e.obs() for e in self.envs])
            lp, v = self.net(torch.from_numpy(o))
            a = torch.multinomial(lp.exp(), 1)
            O[t], A[t], L[t], V[t] = o, a[:, 0], lp.gather(1, a)[:, 0], v
            for i, e in enumerate(self.envs):
                R[t, i], D[t, i] = e.step(int(a[i]))
                if D[t, i]:
                    e.reset()
        V[T] = self.net(torch.from_numpy(np.stack([e.obs() for e in self.envs])))[1]
        adv, last = np.zeros_like(R), 0.0
        for t in range(T - 1, -1, -1):
            last = R[t] + 0.99 * V[t + 1] * (1 - D[t]) - V[t] + 0.99 * 0.95 * (1 - D[t]) * last
            adv[t] = last
        return O.reshape(-1, 5), A.ravel(), L.ravel(), adv.ravel(), (adv + V[:T]).ravel(), R.sum() / max(1, D.sum())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--iterations", type=int, default=45)
    args = ap.parse_args()
    spec = RunnerSpec(envs=1)
    if args.fixed:
        spec = RunnerSpec()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=200_000_000)
    runners = [Runner.remote(i + 1, spec) for i in range(2)]
    net = Net()
    ray.get([r.collect.remote(net.state_dict()) for r in runners])
    opt = torch.optim.Adam(net.parameters(), 1e-3, fused=True)
    steps, t0 = 0, time.perf_counter()
    for it in range(args.iterations):
        w = ray.put(net.state_dict())
        parts = ray.get([r.collect.remote(w) for r in runners])
        O, A, L, G, V = (torch.from_numpy(np.concatenate(x)) for x in list(zip(*parts))[:5])
        G = (G - G.mean()) / (G.std() + 1e-8)
        for _ in range(4):
            for i in torch.randperm(len(O)).split(512):
                lp, v = net(O[i])
                q = (lp.gather(1, A[i, None])[:, 0] - L[i]).exp()
                loss = -torch.min(q * G[i], q.clamp(0.8, 1.2) * G[i]).mean() + 0.5 * (v - V[i]).pow(2).mean() \
                    + 0.01 * (lp.exp() * lp).sum(-1).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
        steps += len(O)
        if it % 10 == 9:
            print(f"iteration {it + 1} return {np.mean([p[5] for p in parts]):.2f}", flush=True)
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={steps}")
    ray.shutdown()


if __name__ == "__main__":
    main()
