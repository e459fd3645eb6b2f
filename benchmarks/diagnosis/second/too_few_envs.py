"""PPO with two vectorised environments and a batch of 4096: acting is two rows a time."""

# plants: too-few-envs @ gym.make_vec(
import sys

import gymnasium as gym
import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
ENVS = 32 if "--fixed" in sys.argv else 2
STEPS = 4096 // ENVS
envs = gym.make_vec("CartPole-v1", num_envs=ENVS, vectorization_mode="sync")
body = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
pi, v = nn.Linear(64, 2), nn.Linear(64, 1)
opt = torch.optim.Adam([*body.parameters(), *pi.parameters(), *v.parameters()], 3e-4, fused=True)
obs, _ = envs.reset(seed=0)
for _update in range(4):
    store = []
    for _ in range(STEPS):
        x = torch.from_numpy(obs)
        with torch.no_grad():
            h = body(x)
            logits = pi(h).log_softmax(1)
            act = torch.multinomial(logits.exp(), 1)
        obs, reward, ended, cut, _ = envs.step(act[:, 0].numpy())
        over = torch.from_numpy(np.logical_or(ended, cut)).float()
        store.append(
            (
                x,
                act,
                logits.gather(1, act)[:, 0],
                v(h)[:, 0].detach(),
                torch.from_numpy(reward),
                over,
            )
        )
    x, act, old, value, reward, over = map(torch.stack, zip(*store, strict=True))
    ret, run = torch.zeros_like(reward), value[-1].double()
    for t in reversed(range(STEPS)):
        run = reward[t] + 0.99 * run * (1 - over[t])
        ret[t] = run
    x, act, old = x.flatten(0, 1), act.flatten(0, 1), old.flatten()
    ret, adv = ret.flatten().float(), (ret - value).flatten().float()
    for rows in torch.randperm(len(x)).split(512):
        h = body(x[rows])
        ratio = (pi(h).log_softmax(1).gather(1, act[rows])[:, 0] - old[rows]).exp()
        gain = torch.min(ratio * adv[rows], ratio.clamp(0.8, 1.2) * adv[rows]).mean()
        loss = (v(h)[:, 0] - ret[rows]).pow(2).mean() - gain
        opt.zero_grad()
        loss.backward()
        opt.step()
