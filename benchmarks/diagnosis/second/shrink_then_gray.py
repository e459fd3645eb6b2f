"""A pixel environment whose wrapper resizes the colour frame before making it gray."""

# plants: preprocessing-order @ .resize(
import sys

import gymnasium as gym
import numpy as np
import torch
from PIL import Image
from torch import nn

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)


class Pixels(gym.Env):
    observation_space = gym.spaces.Box(0, 255, (210, 160, 3), np.uint8)
    action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.t = 80, 0
        return self.draw(), {}

    def draw(self):
        frame = np.zeros((210, 160, 3), np.uint8)
        frame[180:200, max(self.x - 8, 0) : self.x + 8] = (200, 70, 90)
        return frame

    def step(self, action):
        self.x = int(np.clip(self.x + 4 * (action - 1), 0, 159))
        self.t += 1
        return self.draw(), 1.0 - abs(self.x - 80) / 80, False, self.t >= 200, {}


class Small(gym.ObservationWrapper):
    def observation(self, frame):
        if FIXED:
            return np.asarray(Image.fromarray(frame).convert("L").resize((84, 84), Image.BILINEAR))
        shrunk = np.asarray(Image.fromarray(frame).resize((84, 84), Image.BILINEAR), np.float32)
        return (shrunk @ np.array([0.299, 0.587, 0.114], np.float32)).astype(np.uint8)


env = Small(Pixels())
net = nn.Sequential(nn.Conv2d(1, 4, 8, 8), nn.ReLU(), nn.Flatten(), nn.Linear(400, 3))
opt = torch.optim.SGD(net.parameters(), 1e-4)
obs, _ = env.reset(seed=0)
rows = []
for step in range(6000):
    frame = torch.from_numpy(np.array(obs))[None, None].float() / 255
    with torch.no_grad():
        action = int(net(frame).argmax())
    obs, reward, _, over, _ = env.step(action)
    rows.append((frame, action, reward))
    if over:
        obs, _ = env.reset()
    if len(rows) == 32:
        x, a, r = zip(*rows, strict=True)
        value = net(torch.cat(x))[range(32), a]
        opt.zero_grad()
        (value - torch.tensor(r)).pow(2).mean().backward()
        opt.step()
        rows.clear()
