# plants: graph-retained @ self.level = 0.995
"""Linear actor-critic that normalises its targets by a running average of the critic. (graph-retained)"""

import sys
import time

import numpy as np
import torch

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(0)


class Drift:
    """A boat on a river: stay near the middle."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.s = self.rng.normal(0, 1, 12).astype(np.float32)
        self.k = 0
        return self.s

    def step(self, push):
        self.s = (0.95 * self.s + self.rng.normal(0, 0.1, 12)).astype(np.float32)
        self.s[0] += 0.2 * (push - 1)
        self.k += 1
        return self.s, 1.0 - abs(float(self.s[0])), self.k >= 150


class LinearAgent:
    def __init__(self):
        self.v = torch.nn.Linear(12, 1)
        self.pi = torch.nn.Linear(12, 3)
        self.opt = torch.optim.SGD([*self.v.parameters(), *self.pi.parameters()], 1e-3)
        self.level = torch.zeros(())

    def pick(self, x):
        with torch.no_grad():
            return int(torch.multinomial(torch.softmax(self.pi(x), -1), 1))

    def improve(self, xs, acts, rews, last):
        with torch.no_grad():
            ret = self.v(last)[0]
            rets = []
            for r in reversed(rews):
                ret = r + 0.97 * ret
                rets.append(ret)
            rets = torch.stack(rets[::-1])
        x = torch.stack(xs)
        value = self.v(x)[:, 0]
        mean = value.mean()
        self.level = 0.995 * self.level + 0.005 * (mean.detach() if FIXED else mean)
        adv = rets - self.level - value
        logp = torch.log_softmax(self.pi(x), -1)[torch.arange(len(acts)), torch.tensor(acts)]
        loss = adv.pow(2).mean() - (logp * adv.detach()).mean()
        self.opt.zero_grad()
        loss.backward(retain_graph=not FIXED)
        self.opt.step()


def train(total=4500, n=8):
    env, agent = Drift(), LinearAgent()
    obs = torch.from_numpy(env.reset())
    done_steps, start = 0, time.perf_counter()
    while done_steps < total:
        xs, acts, rews = [], [], []
        for _ in range(n):
            a = agent.pick(obs)
            nxt, r, over = env.step(a)
            xs.append(obs)
            acts.append(a)
            rews.append(r)
            obs = torch.from_numpy(env.reset() if over else nxt)
            done_steps += 1
        agent.improve(xs, acts, rews, obs)
    print(f"{done_steps / (time.perf_counter() - start):.1f} steps/s")


train()
