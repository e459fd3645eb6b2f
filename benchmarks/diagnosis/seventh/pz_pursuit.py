# plants: deepcopy-in-step @ return copy.deepcopy(self.__dict__["world"])
"""Independent actor-critics chase each other on a torus (PettingZoo parallel API)."""
import argparse
import copy
import time
from types import SimpleNamespace

import numpy as np
import torch
import torch.nn as nn
from gymnasium import spaces
from pettingzoo import ParallelEnv


class Body:
    def __init__(self, name, pos, speed):
        self.name, self.pos, self.vel, self.speed = name, pos, np.zeros(2), speed
        self.trace = []


class World(SimpleNamespace):
    pass


class Snapshots:
    """Mixin: what happened, kept for whoever wants to look at an episode."""

    light = False

    def snapshot(self):
        if self.light:
            w = self.__dict__["world"]
            return {b.name: b.pos for b in w.bodies}
        return copy.deepcopy(self.__dict__["world"])


class Pursuit(Snapshots, ParallelEnv):
    metadata = {"name": "pursuit_torus"}
    moves = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]]) * 1.0

    def __init__(self, hunters=3, preys=2, seed=0):
        self.g = np.random.default_rng(seed)
        self.possible_agents = [f"hunter_{i}" for i in range(hunters)] + [f"prey_{i}" for i in range(preys)]
        self.n = hunters + preys

    def observation_space(self, agent):
        return spaces.Box(-1, 1, (2 * self.n,), np.float32)

    def action_space(self, agent):
        return spaces.Discrete(5)

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        self.world = World(bodies=[Body(a, self.g.random(2), 0.03 if a[0] == "h" else 0.025) for a in self.agents],
                          clock=0, catches=0)
        return self._obs(), {a: {} for a in self.agents}

    def _obs(self):
        p = np.stack([b.pos for b in self.world.bodies])
        v = np.stack([b.vel for b in self.world.bodies])
        out = {}
        for i, b in enumerate(self.world.bodies):
            d = (p - p[i] + 0.5) % 1.0 - 0.5
            d[i] = v[i] * 10
            out[b.name] = (d * 2).astype(np.float32).ravel()
        return out

    def step(self, actions):
        w = self.world
        for b in w.bodies:
            b.vel = 0.5 * b.vel + 0.5 * b.speed * self.moves[actions[b.name]]
            b.pos = (b.pos + b.vel) % 1.0
            b.trace.append((float(b.pos[0]), float(b.pos[1])))
            del b.trace[:-12]
        rew = {a: 0.0 for a in self.agents}
        for h in (x for x in w.bodies if x.name[0] == "h"):
            near = np.inf
            for y in (x for x in w.bodies if x.name[0] == "p"):
                d = float(np.linalg.norm((h.pos - y.pos + 0.5) % 1.0 - 0.5))
                near = min(near, d)
                rew[y.name] += 0.1 * min(d, 0.3)
                if d < 0.05:
                    rew[h.name] += 1.0
                    rew[y.name] -= 1.0
                    w.catches += 1
            rew[h.name] -= 0.2 * near
        w.clock += 1
        end = w.clock >= 100
        info = {"world": self.snapshot()}
        names = self.agents
        if end:
            self.agents = []
        return self._obs(), rew, dict.fromkeys(names, False), dict.fromkeys(names, end), dict.fromkeys(names, info)


class Mind(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(n, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.pi, self.v = nn.Linear(64, 5), nn.Linear(64, 1)

    def forward(self, x):
        h = self.f(x)
        return self.pi(h).log_softmax(-1), self.v(h)[..., 0]


def learn(mind, opt, O, A, R):
    ret, acc = np.zeros_like(R), np.zeros(R.shape[1:], np.float32)
    for t in range(len(R) - 1, -1, -1):
        acc = R[t] + 0.97 * acc
        ret[t] = acc
    o, a, g = torch.from_numpy(O).flatten(0, 1), torch.from_numpy(A).flatten(), torch.from_numpy(ret).flatten()
    lp, v = mind(o)
    adv = (g - v).detach()
    loss = -(lp.gather(1, a[:, None])[:, 0] * adv).mean() + 0.5 * (v - g).pow(2).mean() \
        + 0.01 * (lp.exp() * lp).sum(-1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--episodes", type=int, default=260)
    args = ap.parse_args()
    Snapshots.light = args.fixed
    torch.manual_seed(0)
    torch.set_num_threads(1)
    env = Pursuit()
    minds = {"h": Mind(2 * env.n), "p": Mind(2 * env.n)}
    opts = {k: torch.optim.Adam(m.parameters(), 1e-3, fused=True) for k, m in minds.items()}
    steps, t0 = 0, time.perf_counter()
    for ep in range(args.episodes):
        obs, _ = env.reset()
        mem = {k: ([], [], []) for k in minds}
        while env.agents:
            acts = {}
            for k, m in minds.items():
                names = [a for a in env.agents if a[0] == k]
                o = np.stack([obs[a] for a in names])
                with torch.no_grad():
                    act = torch.multinomial(m(torch.from_numpy(o))[0].exp(), 1)[:, 0].numpy()
                mem[k][0].append(o)
                mem[k][1].append(act)
                acts.update(zip(names, act.tolist()))
            obs, rew, _, _, info = env.step(acts)
            for k in minds:
                mem[k][2].append([r for a, r in rew.items() if a[0] == k])
            steps += 1
        for k, (o, a, r) in mem.items():
            learn(minds[k], opts[k], np.array(o), np.array(a), np.array(r, np.float32))
        if ep % 40 == 39:
            print(f"episode {ep + 1}: {env.world.catches} catches", flush=True)
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={steps}")


if __name__ == "__main__":
    main()
