"""DDPG with ensembles of small networks: Adam and the soft update go tensor by tensor."""

# plants: unfused-optimizer @ torch.optim.Adam(
# plants: target-update-loop @ slow.data.copy_(
import copy
import sys

import gymnasium as gym
import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)


def mlp(inputs, outputs):
    return nn.Sequential(
        nn.Linear(inputs, 48), nn.LayerNorm(48), nn.ReLU(), nn.Linear(48, 48), nn.LayerNorm(48),
        nn.ReLU(), nn.Linear(48, 48), nn.LayerNorm(48), nn.ReLU(), nn.Linear(48, outputs),
    )  # fmt: skip


env = gym.make("Pendulum-v1")
actor, critics = mlp(3, 1), nn.ModuleList(mlp(4, 1) for _ in range(4))
late = copy.deepcopy(critics)
kind = {"fused": True} if FIXED else {"foreach": False}
of_actor = torch.optim.Adam(actor.parameters(), 1e-3, **kind)
of_critics = torch.optim.Adam(critics.parameters(), 1e-3, **kind)
memory, rng = [], np.random.default_rng(0)
obs, _ = env.reset(seed=0)
for step in range(1500):
    with torch.no_grad():
        action = actor(torch.from_numpy(obs)).tanh().numpy() + rng.normal(0, 0.1, 1)
    after, reward, ended, cut, _ = env.step(np.float32(2 * action))
    memory.append(np.concatenate([obs, action, [reward], after]).astype(np.float32))
    obs = env.reset()[0] if ended or cut else after
    if step < 100:
        continue
    rows = torch.from_numpy(np.stack([memory[k] for k in rng.integers(0, len(memory), 64)]))
    with torch.no_grad():
        then = torch.cat([rows[:, 5:], actor(rows[:, 5:]).tanh()], 1)
        goal = rows[:, 4:5] + 0.98 * torch.stack([c(then) for c in late]).min(0).values
    loss = sum((c(rows[:, :4]) - goal).pow(2).mean() for c in critics)
    of_critics.zero_grad()
    loss.backward()
    of_critics.step()
    do = torch.cat([rows[:, :3], actor(rows[:, :3]).tanh()], 1)
    of_actor.zero_grad()
    (-critics[0](do).mean()).backward()
    of_actor.step()
    with torch.no_grad():
        if FIXED:
            torch._foreach_lerp_(list(late.parameters()), list(critics.parameters()), 0.005)
        else:
            for slow, fast in zip(late.parameters(), critics.parameters(), strict=True):
                slow.data.copy_(0.995 * slow.data + 0.005 * fast.data)
