"""DQN from pixels: a drawn catching game, frames shrunk to 84 x 84 and stacked."""

# plants: image-resize @ return np.asarray(img.convert("RGB").resize((84, 84), Image.LANCZOS).convert("L"))
# plants: anomaly-mode @ torch.autograd.set_detect_anomaly("b" not in args.fixed)
import argparse
import time
from collections import deque

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image, ImageDraw

WIDTH, HEIGHT = 672, 504


class Catch(gym.Env):
    def __init__(self):
        self.observation_space = gym.spaces.Box(0, 255, (HEIGHT, WIDTH), np.uint8)
        self.action_space = gym.spaces.Discrete(3)
        self.background = Image.fromarray(
            (np.random.default_rng(0).random((HEIGHT, WIDTH)) * 30).astype(np.uint8)
        )

    def _draw(self):
        img = self.background.copy()
        d = ImageDraw.Draw(img)
        d.ellipse((self.bx - 16, self.by - 16, self.bx + 16, self.by + 16), fill=255)
        d.rectangle((self.px - 40, HEIGHT - 24, self.px + 40, HEIGHT - 8), fill=180)
        return img

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.bx, self.by = int(self.np_random.integers(20, WIDTH - 20)), 20
        self.px = WIDTH // 2
        return self._draw(), {}

    def step(self, a):
        self.px = int(np.clip(self.px + (a - 1) * 24, 40, WIDTH - 40))
        self.by += 16
        done = self.by > HEIGHT - 30
        hit = abs(self.bx - self.px) < 48
        return self._draw(), (1.0 if hit else -1.0) if done else 0.0, done, False, {}


class ShrinkAndStack(gym.Wrapper):
    def __init__(self, env, quick, k=4):
        super().__init__(env)
        self.quick = quick
        self.frames = deque(maxlen=k)
        self.observation_space = gym.spaces.Box(0, 255, (k, 84, 84), np.uint8)

    def shrink(self, img):
        if self.quick:
            return np.asarray(img.reduce((8, 6)))
        return np.asarray(img.convert("RGB").resize((84, 84), Image.LANCZOS).convert("L"))

    def reset(self, **kw):
        img, info = self.env.reset(**kw)
        for _ in range(self.frames.maxlen):
            self.frames.append(self.shrink(img))
        return np.stack(self.frames), info

    def step(self, a):
        img, r, term, trunc, info = self.env.step(a)
        self.frames.append(self.shrink(img))
        return np.stack(self.frames), r, term, trunc, info


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(
            nn.Conv2d(4, 8, 8, 4),
            nn.ReLU(),
            nn.Conv2d(8, 16, 4, 3),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(16 * 6 * 6, 64),
            nn.ReLU(),
            nn.Linear(64, 3),
        )

    def forward(self, x):
        return self.f(x.float().div_(255))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=2400)
    ap.add_argument("--fixed", nargs="?", const="ab", default="")
    args = ap.parse_args()
    np.random.seed(0)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.autograd.set_detect_anomaly("b" not in args.fixed)
    env = ShrinkAndStack(Catch(), quick="a" in args.fixed)
    q, tgt = QNet(), QNet()
    tgt.load_state_dict(q.state_dict())
    opt = torch.optim.Adam(q.parameters(), lr=3e-4, fused=True)
    cap = 4000
    S, S2 = (np.zeros((cap, 4, 84, 84), np.uint8) for _ in range(2))
    A, R, D = np.zeros(cap, np.int64), np.zeros(cap, np.float32), np.zeros(cap, np.float32)
    s, _ = env.reset(seed=0)
    wins = deque(maxlen=50)
    start = time.perf_counter()
    for i in range(args.steps):
        if np.random.rand() < max(0.05, 1 - 2 * i / args.steps):
            a = int(np.random.randint(3))
        else:
            with torch.no_grad():
                a = int(q(torch.from_numpy(s)[None]).argmax())
        s2, r, term, _, _ = env.step(a)
        k = i % cap
        S[k], A[k], R[k], S2[k], D[k] = s, a, r, s2, term
        s = s2
        if term:
            wins.append(r > 0)
            s, _ = env.reset()
        if i >= 200 and i % 4 == 0:
            b = np.random.randint(0, min(i + 1, cap), 16)
            with torch.no_grad():
                y = torch.from_numpy(R[b]) + 0.98 * tgt(torch.from_numpy(S2[b])).max(
                    1
                ).values * torch.from_numpy(1 - D[b])
            p = q(torch.from_numpy(S[b])).gather(1, torch.from_numpy(A[b])[:, None])[:, 0]
            loss = F.smooth_l1_loss(p, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        if i % 500 == 0:
            tgt.load_state_dict(q.state_dict())
            print(i, "caught", round(float(np.mean(wins or [0])), 2))
    print(f"loop_s {time.perf_counter() - start:.3f} steps {args.steps}")


if __name__ == "__main__":
    main()
