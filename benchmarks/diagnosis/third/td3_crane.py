# plants: checkpointing @ pickle.dump(state, f)
# plants: target-update-loop @ tp.data.copy_(tau * p.data + (1.0 - tau) * tp.data)
import argparse
import os
import pickle
import tempfile
import time

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Crane(gym.Env):
    """A hanging load on a trolley: bring it to the mark without swing."""

    def __init__(self):
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (6,), np.float32)
        self.action_space = gym.spaces.Box(-1, 1, (2,), np.float32)

    def _o(self):
        return np.array([self.x, self.v, self.th, self.om, self.l, self.mark - self.x], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.v = self.th = self.om = 0.0
        self.l = 1.0
        self.mark = self.np_random.uniform(-2, 2)
        self.t = 0
        return self._o(), {}

    def step(self, a):
        force, winch = float(a[0]), float(a[1])
        self.v = 0.95 * self.v + 0.1 * force
        self.om = (
            0.98 * self.om - 0.05 * (9.8 * np.sin(self.th) + 2 * force * np.cos(self.th)) / self.l
        )
        self.th += 0.05 * self.om
        self.x += 0.1 * self.v
        self.l = float(np.clip(self.l + 0.02 * winch, 0.5, 2.0))
        self.t += 1
        return self._o(), -abs(self.mark - self.x) - 0.3 * abs(self.th), False, self.t >= 100, {}


def mlp(i, o, out=nn.Identity):
    return nn.Sequential(
        nn.Linear(i, 64),
        nn.ReLU(),
        nn.Linear(64, 64),
        nn.ReLU(),
        nn.Linear(64, 64),
        nn.ReLU(),
        nn.Linear(64, o),
        out(),
    )


class Buffer:
    def __init__(self, size):
        self.size, self.n, self.i = size, 0, 0
        self.o, self.o2 = np.zeros((size, 6), np.float32), np.zeros((size, 6), np.float32)
        self.a, self.r = np.zeros((size, 2), np.float32), np.zeros(size, np.float32)

    def add(self, o, a, r, o2):
        k = self.i
        self.o[k], self.a[k], self.r[k], self.o2[k] = o, a, r, o2
        self.i, self.n = (k + 1) % self.size, min(self.n + 1, self.size)

    def sample(self, b):
        k = np.random.randint(0, self.n, b)
        return [torch.from_numpy(x[k]) for x in (self.o, self.a, self.r, self.o2)]


class TD3:
    def __init__(self, quick_target):
        self.quick_target = quick_target
        self.actor, self.actor_t = mlp(6, 2, nn.Tanh), mlp(6, 2, nn.Tanh)
        self.q1, self.q2, self.q1_t, self.q2_t = (mlp(8, 1) for _ in range(4))
        self.pairs = [(self.actor, self.actor_t), (self.q1, self.q1_t), (self.q2, self.q2_t)]
        for net, tgt in self.pairs:
            tgt.load_state_dict(net.state_dict())
        self.src = [p.data for net, _ in self.pairs for p in net.parameters()]
        self.dst = [p.data for _, tgt in self.pairs for p in tgt.parameters()]
        self.q_opt = torch.optim.Adam(
            [*self.q1.parameters(), *self.q2.parameters()], 1e-3, fused=True
        )
        self.a_opt = torch.optim.Adam(self.actor.parameters(), 1e-3, fused=True)
        self.updates = 0

    def act(self, o, noise):
        with torch.no_grad():
            a = self.actor(torch.from_numpy(o)).numpy()
        return np.clip(a + noise * np.random.randn(2), -1, 1).astype(np.float32)

    def soft_update(self, tau=0.005):
        if self.quick_target:
            torch._foreach_lerp_(self.dst, self.src, tau)
            return
        for net, tgt in self.pairs:
            for p, tp in zip(net.parameters(), tgt.parameters()):
                tp.data.copy_(tau * p.data + (1.0 - tau) * tp.data)

    def update(self, batch):
        o, a, r, o2 = batch
        with torch.no_grad():
            a2 = (self.actor_t(o2) + (0.2 * torch.randn_like(a)).clamp(-0.5, 0.5)).clamp(-1, 1)
            x2 = torch.cat([o2, a2], 1)
            y = r + 0.98 * torch.min(self.q1_t(x2), self.q2_t(x2)).squeeze(1)
        x = torch.cat([o, a], 1)
        loss = F.mse_loss(self.q1(x).squeeze(1), y) + F.mse_loss(self.q2(x).squeeze(1), y)
        self.q_opt.zero_grad()
        loss.backward()
        self.q_opt.step()
        self.updates += 1
        if self.updates % 2 == 0:
            pi_loss = -self.q1(torch.cat([o, self.actor(o)], 1)).mean()
            self.a_opt.zero_grad()
            pi_loss.backward()
            self.a_opt.step()
        self.soft_update()


def save(folder, agent, buffer, with_memory):
    state = {"nets": [net.state_dict() for net, _ in agent.pairs], "updates": agent.updates}
    if with_memory:
        state["memory"] = buffer
    with open(os.path.join(folder, "latest.pkl"), "wb") as f:
        pickle.dump(state, f)
        f.flush()
        os.fsync(f.fileno())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=5500)
    ap.add_argument("--fixed", nargs="?", const="ab", default="")
    args = ap.parse_args()
    np.random.seed(0)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    env, agent, buffer = Crane(), TD3("b" in args.fixed), Buffer(1_000_000)
    o, _ = env.reset(seed=0)
    ret, rets = 0.0, []
    with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
        start = time.perf_counter()
        for step in range(1, args.steps + 1):
            a = agent.act(o, 0.1) if step > 500 else env.action_space.sample()
            o2, r, _, cut, _ = env.step(a)
            buffer.add(o, a, r, o2)
            o, ret = o2, ret + r
            if step > 500:
                agent.update(buffer.sample(64))
            if cut:
                rets.append(ret)
                ret = 0.0
                o, _ = env.reset()
                save(folder, agent, buffer, with_memory="a" not in args.fixed)
            if step % 2000 == 0:
                print(step, "return", round(float(np.mean(rets[-5:])), 2))
        print(f"loop_s {time.perf_counter() - start:.3f} steps {args.steps}")


if __name__ == "__main__":
    main()
