"""Image observations become float32 on the host and are copied to the GPU at four times the size.

    python float_frames.py [--seconds 10] [--fixed] [--envs 256] [--truth FILE]

`--fixed` copies the frames as bytes and converts them on the device.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from torch import nn
from truth import Loop


class PixelVecEnv:
    """Cheap frames of 84 by 84, four stacked, as an Atari vector environment returns them."""

    def __init__(self, num_envs: int) -> None:
        self.num_envs = num_envs
        rng = np.random.default_rng(0)
        self.bank = rng.integers(0, 256, (4, num_envs, 4, 84, 84), dtype=np.uint8)
        self.t = 0

    def reset(self):
        return self.bank[0], {}

    def step(self, actions):
        self.t += 1
        done = np.zeros(self.num_envs, dtype=bool)
        return self.bank[self.t % 4], (actions == 0).astype(np.float32), done, done, {}


class NatureCNN(nn.Module):
    def __init__(self, n_actions: int) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
            nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(),
        )  # fmt: skip
        self.pi, self.v = nn.Linear(512, n_actions), nn.Linear(512, 1)

    def forward(self, x):
        x = self.features(x)
        return self.pi(x), self.v(x).squeeze(-1)


class A2C:
    def __init__(self, args: argparse.Namespace) -> None:
        self.device, self.bytes = args.device, args.fixed
        self.net = NatureCNN(6).to(args.device)
        fused = args.device.startswith("cuda")
        self.opt = torch.optim.RMSprop(self.net.parameters(), lr=7e-4, foreach=fused)
        self.loop = Loop(args)

    def to_tensor(self, obs: np.ndarray) -> torch.Tensor:
        if self.bytes:
            return torch.as_tensor(obs, device=self.device).float() / 255.0
        return torch.as_tensor(obs.astype(np.float32) / 255.0).to(self.device)

    def learn(self, env: PixelVecEnv, n_steps: int) -> None:
        obs, _ = env.reset()
        self.net(self.to_tensor(obs))[1].mean().backward()
        span = self.loop.span
        for _ in self.loop:
            frames, chosen, rewards = [], [], []
            for _ in range(n_steps):
                x = self.to_tensor(obs)
                with torch.no_grad(), span("policy.act"):
                    action = self.net(x)[0].softmax(-1).multinomial(1)[:, 0]
                with span("env.step"):
                    obs, reward, _, _, _ = env.step(action.cpu().numpy())
                frames.append(x)
                chosen.append(action)
                rewards.append(torch.as_tensor(reward, device=self.device))
            with span("learn.forward"):
                logits, value = self.net(torch.cat(frames))
            advantage = torch.cat(rewards) - value
            logp = logits.log_softmax(-1).gather(1, torch.cat(chosen)[:, None])[:, 0]
            loss = advantage.square().mean() - (logp * advantage.detach()).mean()
            with span("learn.optimizer"):
                self.opt.zero_grad()
            with span("learn.backward"):
                loss.backward()
            with span("learn.optimizer"):
                self.opt.step()
        self.loop.finish(n_steps * env.num_envs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--envs", type=int, default=256)
    parser.add_argument("--n-steps", type=int, default=5)
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    A2C(options).learn(PixelVecEnv(options.envs), options.n_steps)
