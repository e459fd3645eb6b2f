# plants: image-resize @ small = zoom(
# plants: logging @ writer.add_images(
"""TorchRL actor on frames: a spline resize in each step (larger), pictures in the log (smaller)."""

import sys
import tempfile
import time

import gymnasium as gym
import numpy as np
import torch
from scipy.ndimage import zoom
from tensordict.nn import TensorDictModule
from torch import nn
from torch.utils.tensorboard import SummaryWriter
from torchrl.collectors import Collector
from torchrl.envs import GymWrapper

torch.set_num_threads(1)
FIX1 = "--fixed" in sys.argv or "--fixed1" in sys.argv
FIX2 = "--fixed" in sys.argv or "--fixed2" in sys.argv


class Breakfast(gym.Env):
    """Catch the toast: 128 x 128 frames reduced to 32 x 32."""

    def __init__(self):
        self.observation_space = gym.spaces.Box(0, 1, (1, 32, 32), np.float32)
        self.action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.plate, self.x, self.y = 64, int(self.np_random.integers(10, 118)), 4
        return self.frame(), {}

    def frame(self):
        picture = np.zeros((128, 128), np.float32)
        picture[self.y - 4 : self.y + 4, self.x - 4 : self.x + 4] = 1.0
        picture[120:, self.plate - 10 : self.plate + 10] = 0.7
        if FIX1:
            return picture.reshape(32, 4, 32, 4).mean((1, 3))[None]
        small = zoom(picture, 0.25, order=3)
        return np.clip(small, 0, 1)[None]

    def step(self, action):
        self.plate = int(np.clip(self.plate + 5 * (int(action) - 1), 10, 118))
        self.y += 3
        done = self.y >= 118
        return self.frame(), float(done and abs(self.plate - self.x) < 12), done, False, {}


def main():
    body = nn.Sequential(
        nn.Conv2d(1, 8, 5, 3), nn.ReLU(), nn.Flatten(-3), nn.Linear(8 * 10 * 10, 3)
    )

    class Policy(nn.Module):
        def forward(self, observation):
            p = body(observation).softmax(-1)
            index = torch.multinomial(p.reshape(-1, 3), 1).reshape(p.shape[:-1])
            return nn.functional.one_hot(index, 3)

    policy = TensorDictModule(Policy(), in_keys=["observation"], out_keys=["action"])
    collector = Collector(
        lambda: GymWrapper(Breakfast()), policy, frames_per_batch=128, total_frames=-1
    )
    optimizer = torch.optim.Adam(body.parameters(), 1e-3, fused=True)
    steps, start = 0, None
    with tempfile.TemporaryDirectory() as folder:
        writer = SummaryWriter(folder)
        for batch in collector:
            start = start or time.perf_counter()
            x, reward = batch["observation"], batch["next", "reward"][:, 0]
            back, running = torch.zeros(128), 0.0
            ended = batch["next", "done"][:, 0].tolist()
            for t in range(127, -1, -1):
                running = float(reward[t]) + 0.97 * running * (not ended[t])
                back[t] = running
            logp = (body(x).log_softmax(-1) * batch["action"]).sum(-1)
            loss = -(logp * (back - back.mean())).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 128
            if not FIX2 or steps % 12800 == 0:
                writer.add_images(
                    "frames", x[:48].repeat_interleave(4, -1).repeat_interleave(4, -2), steps
                )
            if time.perf_counter() - start > 8:
                break
        print(f"{(steps - 128) / (time.perf_counter() - start):.1f} steps/s")
        collector.shutdown()


if __name__ == "__main__":
    main()
