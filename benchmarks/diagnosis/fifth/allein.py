# plants: single-env @ N_ENVS =
"""PPO in one file for a cart with two poles, sized by N_ENVS like the scripts everyone copies."""

import sys
import time

import gymnasium as gym
import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
N_ENVS = 16 if "--fixed" in sys.argv else 1
ROLLOUT = 512


def agent():
    actor = nn.Sequential(
        nn.Linear(4, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 2)
    )
    critic = nn.Sequential(
        nn.Linear(4, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 1)
    )
    return actor, critic


def main():
    envs = gym.make_vec("CartPole-v1", num_envs=N_ENVS, vectorization_mode="sync")
    actor, critic = agent()
    params = [*actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(params, 3e-4, eps=1e-5, fused=True)
    length = ROLLOUT // N_ENVS
    obs, _ = envs.reset(seed=1)
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < 8:
        states = torch.zeros(length + 1, N_ENVS, 4)
        actions = torch.zeros(length, N_ENVS, dtype=torch.long)
        logps, rewards, dones = (torch.zeros(length, N_ENVS) for _ in range(3))
        values = torch.zeros(length + 1, N_ENVS)
        for t in range(length):
            states[t] = torch.from_numpy(obs)
            with torch.no_grad():
                logits, values[t] = actor(states[t]), critic(states[t])[:, 0]
                logp = logits.log_softmax(-1)
                actions[t] = torch.multinomial(logp.exp(), 1)[:, 0]
                logps[t] = logp.gather(1, actions[t][:, None])[:, 0]
            obs, reward, ended, cut, _ = envs.step(actions[t].numpy())
            rewards[t] = torch.from_numpy(reward)
            dones[t] = torch.from_numpy(np.logical_or(ended, cut))
            steps += N_ENVS
        states[length] = torch.from_numpy(obs)
        with torch.no_grad():
            values[length] = critic(states[length])[:, 0]
        advantages, last = torch.zeros(length, N_ENVS), torch.zeros(N_ENVS)
        deltas = rewards + 0.99 * values[1:] * (1 - dones) - values[:-1]
        for t in range(length - 1, -1, -1):
            last = deltas[t] + 0.99 * 0.95 * (1 - dones[t]) * last
            advantages[t] = last
        flat = [x.reshape(ROLLOUT, *x.shape[2:]) for x in (states[:-1], actions, logps, advantages)]
        target = (advantages + values[:-1]).reshape(-1)
        for _ in range(2):
            for rows in torch.randperm(ROLLOUT).split(256):
                s, a, old, adv = (x[rows] for x in flat)
                logp = actor(s).log_softmax(-1)
                ratio = (logp.gather(1, a[:, None])[:, 0] - old).exp()
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                surrogate = torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
                loss = -surrogate + 0.5 * (critic(s)[:, 0] - target[rows]).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(params, 0.5)
                optimizer.step()
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s")


main()
