# plants: render-in-step @ self.frames.append(
"""Double DQN on a small lander; every step is drawn for a video nobody asked for."""

import collections
import random
import sys
import time

import gymnasium as gym
import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)


class Lander(gym.Env):
    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, render_mode=None):
        self.render_mode = render_mode
        self.observation_space = gym.spaces.Box(-10, 10, (5,), np.float32)
        self.action_space = gym.spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.p = np.array([self.np_random.uniform(-1, 1), 3.0])
        self.v, self.fuel = np.zeros(2), 1.0
        return self.observe(), {}

    def observe(self):
        return np.array([*self.p, *self.v, self.fuel], np.float32)

    def step(self, action):
        push = ((0, 0), (0, 0.25), (-0.1, 0.05), (0.1, 0.05))[action] if self.fuel > 0 else (0, 0)
        self.fuel -= 0.01 * (action > 0)
        self.v = self.v + 0.05 * (np.array(push) * 10 - np.array([0, 1.0]))
        self.p = self.p + 0.05 * self.v
        down = bool(self.p[1] <= 0)
        reward = -0.01 + down * (1 - float(np.abs(self.v).sum()) - abs(float(self.p[0])))
        return self.observe(), reward, down, bool(self.p[1] > 6), {}

    def render(self):
        """A sky with a gradient, stars, the ground and an antialiased disc."""
        y, x = np.mgrid[0:240, 0:320]
        sky = np.stack([20 + y / 8, 20 + y / 6, 60 + y / 3], -1)
        sky[200:] = (90, 80, 70)
        cx, cy = 160 + 60 * self.p[0], 200 - 50 * self.p[1]
        cover = np.clip(8 - np.hypot(x - cx, y - cy), 0, 1)[..., None]
        return (sky * (1 - cover) + 255 * cover).astype(np.uint8)


class Recorder(gym.Wrapper):
    """Keeps the last two hundred pictures."""

    def __init__(self, env):
        super().__init__(env)
        self.frames = collections.deque(maxlen=200)

    def step(self, action):
        result = self.env.step(action)
        self.frames.append(self.env.render())
        return result


def main():
    env = Lander("rgb_array")
    if "--fixed" not in sys.argv:
        env = Recorder(env)
    q, target = (nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 4)) for _ in range(2))
    optimizer = torch.optim.Adam(q.parameters(), 1e-3, fused=True)
    s, a, r, s2, d = (np.zeros((20000, n), np.float32) for n in (5, 1, 1, 5, 1))
    obs, _ = env.reset(seed=0)
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < 7:
        if random.random() < 0.1:
            action = random.randrange(4)
        else:
            with torch.no_grad():
                action = int(q(torch.from_numpy(obs)).argmax())
        after, reward, down, out, _ = env.step(action)
        i = steps % 20000
        s[i], a[i], r[i], s2[i], d[i] = obs, action, reward, after, down
        obs = env.reset()[0] if down or out else after
        steps += 1
        if steps > 500 and steps % 4 == 0:
            rows = np.random.randint(0, min(steps, 20000), 64)
            batch = [torch.from_numpy(x[rows]) for x in (s, a, r, s2, d)]
            with torch.no_grad():
                best = q(batch[3]).argmax(1, keepdim=True)
                goal = batch[2] + 0.99 * (1 - batch[4]) * target(batch[3]).gather(1, best)
            loss = nn.functional.mse_loss(q(batch[0]).gather(1, batch[1].long()), goal)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if steps % 1000 == 0:
            target.load_state_dict(q.state_dict())
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s")


main()
