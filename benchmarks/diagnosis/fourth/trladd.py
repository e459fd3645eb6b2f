# plants: per-item-buffer-push @ buffer.add(data[k])
"""DQN with TorchRL's replay buffer on a batched torch grid world. (per-item-buffer-push)"""

import sys
import time

import torch
from tensordict import TensorDict
from torch import nn
from torchrl.data import LazyTensorStorage, ReplayBuffer

torch.set_num_threads(1)
torch.manual_seed(0)
WHOLE = "--fixed" in sys.argv
N = 48


class Grid:
    moves = torch.tensor([[0, 1], [1, 0], [0, -1], [-1, 0]])

    def reset(self):
        self.at = torch.randint(0, 12, (N, 2))
        self.goal = torch.randint(0, 12, (N, 2))
        return self.observe()

    def observe(self):
        return torch.cat([self.at, self.goal], 1).float() / 12

    def step(self, action):
        self.at = (self.at + self.moves[action]).clamp(0, 11)
        hit = (self.at == self.goal).all(1)
        self.goal[hit] = torch.randint(0, 12, (int(hit.sum()), 2))
        return self.observe(), hit.float() - 0.01, hit


def train():
    env = Grid()
    q = nn.Sequential(
        nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 4)
    )
    opt = torch.optim.Adam(q.parameters(), 1e-3, fused=True)
    buffer = ReplayBuffer(storage=LazyTensorStorage(20_000), batch_size=256)
    obs, steps, start = env.reset(), 0, time.perf_counter()
    while time.perf_counter() - start < 9:
        with torch.no_grad():
            action = q(obs).argmax(1)
        action = torch.where(torch.rand(N) < 0.1, torch.randint(0, 4, (N,)), action)
        nxt, reward, done = env.step(action)
        data = TensorDict(
            {"obs": obs, "action": action, "reward": reward, "next": nxt, "done": done}, [N]
        )
        if WHOLE:
            buffer.extend(data)
        else:
            for k in range(N):
                buffer.add(data[k])
        obs = nxt
        steps += N
        b = buffer.sample()
        with torch.no_grad():
            target = b["reward"] + 0.97 * q(b["next"]).max(1).values * ~b["done"]
        loss = nn.functional.smooth_l1_loss(
            q(b["obs"]).gather(1, b["action"][:, None])[:, 0], target
        )
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s")


train()
