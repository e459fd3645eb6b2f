"""Actor-critic on camera images; each simulator lives in its own process and talks over a pipe."""

# plants: pickled-observations @ conn.send((pack(img), r, d))
import argparse
import ctypes
import multiprocessing as mp
import time

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

H = W = 192
CHANNELS = 4


class BallRoom:
    """A ball in a dark room, four cameras; catch it under the paddle."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.noise = self.rng.random((8, CHANNELS, H, W), dtype=np.float32) * 0.05

    def reset(self):
        self.ball = np.array([self.rng.integers(20, W - 20), 10.0])
        self.paddle = W // 2
        return self.image()

    def image(self):
        img = self.noise[self.rng.integers(8)].copy()
        x, y = int(self.ball[0]), int(self.ball[1])
        img[:2, y - 6 : y + 6, x - 6 : x + 6] = 1.0
        img[2:, H - 8 :, max(0, self.paddle - 15) : self.paddle + 15] = 1.0
        return img

    def step(self, a):
        self.paddle = int(np.clip(self.paddle + (a - 1) * 8, 15, W - 15))
        self.ball[1] += 6
        done = self.ball[1] > H - 16
        reward = float(abs(self.ball[0] - self.paddle) < 20) if done else 0.0
        return (self.reset() if done else self.image()), reward, done


def worker(conn, seed, shared):
    env = BallRoom(seed)
    view = None if shared is None else np.frombuffer(shared, np.float32).reshape(CHANNELS, H, W)

    def pack(img):
        if view is None:
            return img
        view[:] = img
        return None

    while True:
        cmd, arg = conn.recv()
        if cmd == "reset":
            conn.send(pack(env.reset()))
        elif cmd == "step":
            img, r, d = env.step(arg)
            conn.send((pack(img), r, d))
        else:
            break


class Workers:
    def __init__(self, n, use_shared):
        self.n = n
        self.obs = np.zeros((n, CHANNELS, H, W), np.float32)
        self.mem = [
            mp.RawArray(ctypes.c_float, CHANNELS * H * W) if use_shared else None for _ in range(n)
        ]
        self.views = [
            np.frombuffer(m, np.float32).reshape(CHANNELS, H, W) if m is not None else None
            for m in self.mem
        ]
        self.conns, self.procs = [], []
        for i in range(n):
            here, there = mp.Pipe()
            p = mp.Process(target=worker, args=(there, i, self.mem[i]), daemon=True)
            p.start()
            self.conns.append(here)
            self.procs.append(p)

    def reset(self):
        for c in self.conns:
            c.send(("reset", None))
        for i, c in enumerate(self.conns):
            img = c.recv()
            self.obs[i] = self.views[i] if img is None else img
        return self.obs

    def step(self, actions):
        for c, a in zip(self.conns, actions):
            c.send(("step", int(a)))
        rewards, dones = np.zeros(self.n, np.float32), np.zeros(self.n, np.float32)
        for i, c in enumerate(self.conns):
            img, rewards[i], dones[i] = c.recv()
            self.obs[i] = self.views[i] if img is None else img
        return self.obs, rewards, dones

    def close(self):
        for c, p in zip(self.conns, self.procs):
            c.send(("close", None))
            p.join()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.AvgPool2d(8), nn.Flatten(), nn.Linear(CHANNELS * 24 * 24, 64), nn.ReLU()
        )
        self.pi, self.v = nn.Linear(64, 3), nn.Linear(64, 1)

    def forward(self, x):
        h = self.body(x)
        return self.pi(h), self.v(h).squeeze(-1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=13000)
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--workers", type=int, default=4)
    ap.add_argument("--horizon", type=int, default=8)
    a = ap.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    envs = Workers(a.workers, use_shared=a.fixed)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=5e-4, fused=True)
    obs = torch.from_numpy(envs.reset())
    total, caught, ended, last_print = 0, 0.0, 0.0, 0
    start = time.perf_counter()
    while total < a.steps:
        logps, values, ents, rewards, dones = [], [], [], [], []
        for _ in range(a.horizon):
            logits, v = net(obs.clone())
            dist = Categorical(logits=logits, validate_args=False)
            act = dist.sample()
            o, r, d = envs.step(act.numpy())
            obs = torch.from_numpy(o)
            logps.append(dist.log_prob(act)), values.append(v), ents.append(dist.entropy())
            rewards.append(torch.from_numpy(r)), dones.append(torch.from_numpy(d))
            caught += r.sum()
            ended += d.sum()
            total += a.workers
        with torch.no_grad():
            ret = net(obs)[1]
        returns = []
        for r, d in zip(reversed(rewards), reversed(dones)):
            ret = r + 0.97 * ret * (1 - d)
            returns.insert(0, ret)
        R, V = torch.stack(returns), torch.stack(values)
        loss = -(torch.stack(logps) * (R - V.detach())).mean() + 0.5 * (R - V).pow(2).mean()
        loss = loss - 0.01 * torch.stack(ents).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if total - last_print >= 4000:
            print(total, "caught", round(caught / max(ended, 1), 3))
            caught = ended = 0.0
            last_print = total
    print(f"loop_s {time.perf_counter() - start:.3f} steps {total}")
    envs.close()


if __name__ == "__main__":
    main()
