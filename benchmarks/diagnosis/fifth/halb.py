# plants: mixed-precision-no-gain @ with torch.autocast("cpu", dtype=torch.bfloat16, enabled=HALF):
"""Deep Q-learning on 64 vectorised cart swings, in bfloat16 because the paper did so on a GPU."""

import sys
import time

import torch
from torch import nn

torch.set_num_threads(1)
HALF = "--fixed" not in sys.argv


class Swings:
    """Sixty-four pendulums as tensors."""

    def __init__(self, n=64):
        self.angle, self.speed = torch.rand(n) * 6 - 3, torch.zeros(n)

    def observe(self):
        return torch.stack([self.angle.cos(), self.angle.sin(), self.speed / 8], 1)

    def step(self, action):
        torque = (action - 2).float()
        self.speed = (self.speed + 0.05 * (15 * self.angle.sin() + 3 * torque)).clamp(-8, 8)
        self.angle = (self.angle + 0.05 * self.speed + torch.pi) % (2 * torch.pi) - torch.pi
        return self.observe(), -self.angle.pow(2) - 0.1 * self.speed.pow(2)


def network():
    return nn.Sequential(
        nn.Linear(3, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 5)
    )


def main():
    envs, q, target = Swings(), network(), network()
    optimizer = torch.optim.Adam(q.parameters(), 5e-4, fused=True)
    size = 300
    s, n = torch.zeros(size, 64, 3), torch.zeros(size, 64, 3)
    a, r = torch.zeros(size, 64, dtype=torch.long), torch.zeros(size, 64)
    obs, ticks, start = envs.observe(), 0, time.perf_counter()
    while time.perf_counter() - start < 7:
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=HALF):
            action = q(obs).float().argmax(1)
        random = torch.rand(64) < 0.1
        action[random] = torch.randint(0, 5, (int(random.sum()),))
        after, reward = envs.step(action)
        i = ticks % size
        s[i], a[i], r[i], n[i] = obs, action, reward, after
        obs = after
        ticks += 1
        if ticks > 10:
            for _ in range(2):
                t, e = torch.randint(0, min(ticks, size), (64,)), torch.randint(0, 64, (64,))
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=HALF):
                    with torch.no_grad():
                        goal = r[t, e] + 0.97 * target(n[t, e]).max(1).values
                    loss = (q(s[t, e]).gather(1, a[t, e][:, None])[:, 0] - goal).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        if ticks % 100 == 0:
            target.load_state_dict(q.state_dict())
    print(f"{64 * ticks / (time.perf_counter() - start):.1f} steps/s")


main()
