# plants: unbatched-policy @ logits, value = self.net(torch.as_tensor(o).unsqueeze(0))
"""Independent PPO with shared weights; 12 drones in a parallel-style dict environment."""

import sys
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)


@dataclass
class Config:
    drones: int = 12
    horizon: int = 64
    iterations: int = 85
    epochs: int = 3
    lr: float = 1e-3
    gamma: float = 0.97
    clip: float = 0.2


class SwarmEnv:
    """Drones should spread over as many beacons; observations keyed by drone name."""

    moves = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]], np.float32) * 0.1

    def __init__(self, n, seed=0):
        self.rng = np.random.default_rng(seed)
        self.agents = [f"drone_{i}" for i in range(n)]
        self.n = n

    def reset(self):
        self.pos = self.rng.uniform(-1, 1, (self.n, 2)).astype(np.float32)
        self.beacons = self.rng.uniform(-1, 1, (self.n, 2)).astype(np.float32)
        self.t = 0
        return self._obs()

    def _obs(self):
        near = self.beacons[None] - self.pos[:, None]
        own = self.pos[None] - self.pos[:, None]
        flat = np.concatenate([self.pos, near.reshape(self.n, -1), own.reshape(self.n, -1)], 1)
        return dict(zip(self.agents, flat))

    def step(self, actions):
        self.pos += self.moves[[actions[a] for a in self.agents]]
        np.clip(self.pos, -1.2, 1.2, out=self.pos)
        gap = np.linalg.norm(self.beacons[:, None] - self.pos[None], axis=-1)
        shared = -gap.min(1).mean()
        own = -gap.min(0)
        self.t += 1
        done = self.t >= 64
        return self._obs(), dict(zip(self.agents, shared + 0.5 * own)), done


class Net(nn.Module):
    def __init__(self, width, hidden=96):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(width, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh()
        )
        self.pi = nn.Linear(hidden, 5)
        self.v = nn.Linear(hidden, 1)

    def forward(self, x):
        z = self.body(x)
        return self.pi(z), self.v(z).squeeze(-1)


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.env = SwarmEnv(cfg.drones)
        self.net = Net(2 + 4 * cfg.drones)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=cfg.lr, fused=True)

    @torch.no_grad()
    def choose(self, obs):
        if FIXED:
            logits, value = self.net(torch.from_numpy(np.stack(list(obs.values()))))
            logp = torch.log_softmax(logits, -1)
            act = torch.multinomial(logp.exp(), 1)
            lp = logp.gather(1, act)[:, 0].tolist()
            acts, vals = act[:, 0].tolist(), value.tolist()
            return dict(zip(obs, acts)), dict(zip(obs, lp)), dict(zip(obs, vals))
        acts, logps, values = {}, {}, {}
        for name, o in obs.items():
            logits, value = self.net(torch.as_tensor(o).unsqueeze(0))
            logp = torch.log_softmax(logits, -1)[0]
            act = torch.multinomial(logp.exp(), 1)
            acts[name], logps[name] = int(act), float(logp[act])
            values[name] = float(value)
        return acts, logps, values

    def collect(self):
        names, T = self.env.agents, self.cfg.horizon
        obs = self.env.reset()
        O, A, L, V, R = [], [], [], [], []
        for _ in range(T):
            acts, logps, values = self.choose(obs)
            O.append(np.stack(list(obs.values())))
            obs, rewards, done = self.env.step(acts)
            A.append([acts[n] for n in names])
            L.append([logps[n] for n in names])
            V.append([values[n] for n in names])
            R.append([rewards[n] for n in names])
        return [np.array(x) for x in (O, A, L, V, R)]

    def learn(self, O, A, L, V, R):
        ret, g = np.zeros_like(R), V[-1]
        for t in range(len(R) - 1, -1, -1):
            g = R[t] + self.cfg.gamma * g
            ret[t] = g
        o = torch.from_numpy(O).flatten(0, 1)
        a = torch.from_numpy(A).flatten()
        old = torch.from_numpy(L).float().flatten()
        ret = torch.from_numpy(ret).float().flatten()
        adv = ret - torch.from_numpy(V).float().flatten()
        adv = (adv - adv.mean()) / (adv.std() + 1e-6)
        for _ in range(self.cfg.epochs):
            for idx in torch.randperm(len(o)).split(256):
                logits, v = self.net(o[idx])
                lp = torch.log_softmax(logits, -1).gather(1, a[idx, None])[:, 0]
                ratio = (lp - old[idx]).exp()
                c = ratio.clamp(1 - self.cfg.clip, 1 + self.cfg.clip)
                loss = -torch.min(ratio * adv[idx], c * adv[idx]).mean()
                loss = loss + 0.5 * (v - ret[idx]).square().mean()
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()

    def run(self):
        start, steps = time.perf_counter(), 0
        for _ in range(self.cfg.iterations):
            batch = self.collect()
            self.learn(*batch)
            steps += self.cfg.horizon
        took = time.perf_counter() - start
        print(f"steps {steps} loop_s {took:.3f} return {batch[-1].mean():.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    Trainer(Config()).run()
