# plants: target-update-loop @ old.copy_(tau * new.data
"""TD3-like agent with deep residual critics; soft updates (target-update-loop)."""

import argparse
import copy
import time

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

cli = argparse.ArgumentParser()
cli.add_argument("--fixed", action="store_true")
cli.add_argument("--seconds", type=float, default=9)
ARGS = cli.parse_args()
torch.set_num_threads(1)
torch.manual_seed(0)


class Residual(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.norm, self.lin = nn.LayerNorm(n), nn.Linear(n, n)

    def forward(self, x):
        return x + F.silu(self.lin(self.norm(x)))


def tower(n_in, n_out, width=32, depth=6):
    return nn.Sequential(
        nn.Linear(n_in, width), *[Residual(width) for _ in range(depth)], nn.Linear(width, n_out)
    )


class Agent:
    def __init__(self, n_obs, n_act):
        self.actor = tower(n_obs, n_act)
        self.critics = nn.ModuleList([tower(n_obs + n_act, 1) for _ in range(2)])
        self.actor_old, self.critics_old = copy.deepcopy(self.actor), copy.deepcopy(self.critics)
        self.opt_a = torch.optim.Adam(self.actor.parameters(), 1e-3, fused=True)
        self.opt_c = torch.optim.Adam(self.critics.parameters(), 1e-3, fused=True)
        self.pairs = list(zip(self.actor_old.parameters(), self.actor.parameters()))
        self.pairs += list(zip(self.critics_old.parameters(), self.critics.parameters()))

    @torch.no_grad()
    def act(self, obs):
        a = torch.tanh(self.actor(torch.as_tensor(obs)[None]))[0].numpy() * 2
        return (a + np.random.normal(0, 0.2, a.shape)).clip(-2, 2).astype(np.float32)

    def learn(self, s, a, r, s2, delayed):
        with torch.no_grad():
            x = torch.cat([s2, torch.tanh(self.actor_old(s2)) * 2], 1)
            y = r + 0.98 * torch.minimum(self.critics_old[0](x), self.critics_old[1](x))
        x = torch.cat([s, a], 1)
        loss = sum(F.mse_loss(q(x), y) for q in self.critics)
        self.opt_c.zero_grad()
        loss.backward()
        self.opt_c.step()
        if delayed:
            self.opt_a.zero_grad()
            (-self.critics[0](torch.cat([s, torch.tanh(self.actor(s)) * 2], 1)).mean()).backward()
            self.opt_a.step()
        self.follow()

    def follow(self, tau=0.005):
        with torch.no_grad():
            if ARGS.fixed:
                torch._foreach_lerp_([o for o, _ in self.pairs], [n for _, n in self.pairs], tau)
                return
            for old, new in self.pairs:
                old.copy_(tau * new.data + (1.0 - tau) * old.data)


def main():
    env = gym.make("Pendulum-v1")
    agent = Agent(3, 1)
    store = {
        k: np.zeros((20000, n), np.float32) for k, n in (("s", 3), ("a", 1), ("r", 1), ("s2", 3))
    }
    obs, _ = env.reset(seed=0)
    n, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < ARGS.seconds:
        act = agent.act(obs)
        nxt, rew, term, trunc, _ = env.step(act)
        for key, value in (("s", obs), ("a", act), ("r", rew), ("s2", nxt)):
            store[key][n % 20000] = value
        obs = nxt if not (term or trunc) else env.reset()[0]
        n += 1
        if n > 200:
            idx = np.random.randint(0, min(n, 20000), 32)
            agent.learn(
                *(torch.from_numpy(store[k][idx]) for k in ("s", "a", "r", "s2")), n % 2 == 0
            )
    print(f"{n / (time.perf_counter() - begin):.1f} steps/s")


main()
