"""A particle simulator in NumPy that takes most of the time; the GPU has little to do, rightly.

python swarm_sim.py [--seconds 10] [--envs 64] [--particles 48]
"""

import argparse
import json
import time

import numpy as np
import torch
from torch import nn


class SwarmVecEnv:
    """Particles that attract and repel each other; the agent pushes all of them."""

    def __init__(self, num_envs, particles, substeps=10):
        self.rng = np.random.default_rng(0)
        self.shape, self.substeps = (num_envs, particles, 2), substeps

    def reset(self):
        self.pos = self.rng.uniform(-1, 1, self.shape)
        self.vel = np.zeros(self.shape)
        return self._obs(), {}

    def _obs(self):
        return np.concatenate([self.pos, self.vel], -1).reshape(len(self.pos), -1).astype("f4")

    def step(self, action):
        push = np.stack([np.cos(action), np.sin(action)], -1)[:, None]
        for _ in range(self.substeps):
            gap = self.pos[:, :, None] - self.pos[:, None]
            square = (gap**2).sum(-1) + 0.01
            force = (gap * (0.002 / square**2 - 0.02 / square)[..., None]).sum(2)
            self.vel = 0.99 * self.vel + 0.01 * (force + push)
            self.pos = np.clip(self.pos + 0.01 * self.vel, -2, 2)
        reward = -np.abs(self.pos).mean((1, 2)).astype("f4")
        done = np.zeros(len(self.pos), bool)
        return self._obs(), reward, done, done, {}


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    ap.add_argument("--seconds", type=float, default=10.0)
    ap.add_argument("--iterations", type=int)
    ap.add_argument("--envs", type=int, default=64)
    ap.add_argument("--particles", type=int, default=48)
    args = ap.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    cuda = args.device == "cuda"
    envs = SwarmVecEnv(args.envs, args.particles)
    obs, _ = envs.reset()
    net = nn.Sequential(nn.Linear(obs.shape[1], 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh())
    net = nn.Sequential(net, nn.Linear(512, 9)).to(args.device)
    opt = torch.optim.Adam(net.parameters(), lr=3e-4, fused=cuda)
    net(torch.as_tensor(obs, device=args.device)).mean().backward()
    if cuda:
        torch.cuda.synchronize()
    updates, begin = 0, time.perf_counter()
    while updates != args.iterations:
        if args.iterations is None and time.perf_counter() - begin > args.seconds:
            break
        seen, chosen, gained = [], [], []
        for _ in range(16):
            x = torch.as_tensor(obs, device=args.device)
            with torch.no_grad():
                action = net(x)[:, :8].softmax(-1).multinomial(1)[:, 0]
            obs, reward, _, _, _ = envs.step(action.cpu().numpy() * np.pi / 4)
            seen.append(x)
            chosen.append(action)
            gained.append(torch.as_tensor(reward))
        out = net(torch.cat(seen))
        advantage = torch.cat(gained).to(args.device) - out[:, 8]
        logp = out[:, :8].log_softmax(-1).gather(1, torch.cat(chosen)[:, None])[:, 0]
        loss = advantage.square().mean() - (logp * advantage.detach()).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        updates += 1
    if cuda:
        torch.cuda.synchronize()
    took = time.perf_counter() - begin
    steps = updates * 16 * args.envs
    print(json.dumps({"loop_s": took, "steps": steps, "steps_per_s": steps / took}))


if __name__ == "__main__":
    main()
