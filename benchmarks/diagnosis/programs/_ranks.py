"""A2C in several ranks that share gradients over gloo, for the scoreboard's programs."""

from __future__ import annotations

import os
import tempfile

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from _environments import Walk
from _training import network
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def rollout(env, policy, obs, length: int):
    """One rollout of one environment; its observations, actions and returns."""
    seen, taken, rewards = [], [], []
    for _ in range(length):
        with torch.no_grad():
            logits = policy(torch.as_tensor(obs, dtype=torch.float32)[None])[0]
        action = int(torch.distributions.Categorical(logits=logits).sample())
        seen.append(obs)
        taken.append(action)
        obs, reward, terminated, truncated, _ = env.step(action)
        rewards.append(reward)
        if terminated or truncated:
            obs, _ = env.reset()
    returns = np.cumsum(rewards[::-1])[::-1].astype(np.float32)
    batch = np.asarray(seen, np.float32), np.asarray(taken), returns.copy()
    return obs, tuple(torch.from_numpy(part) for part in batch)


def train(model: nn.Module, iterations: int, length: int, batch: int, after=None, seed: int = 0):
    """Collect, then a pass over minibatches; `after(iteration)` once per iteration."""
    torch.manual_seed(seed)
    env = Walk()
    obs, _ = env.reset(seed=seed)
    policy = getattr(model, "module", model)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for iteration in range(iterations):
        obs, (seen, taken, returns) = rollout(env, policy, obs, length)
        for _ in range(4):
            for index in torch.randperm(length).split(batch):
                log = torch.log_softmax(model(seen[index]), -1)
                chosen = log.gather(1, taken[index][:, None]).squeeze(1)
                loss = -(chosen * returns[index]).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        if after is not None:
            after(iteration)


def make_policy() -> nn.Module:
    env = Walk()
    return network(int(np.prod(env.observation_space.shape)), int(env.action_space.n))


def _rank(rank: int, world: int, rendezvous: str, work) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=world)
    work(rank, DistributedDataParallel(make_policy()))
    dist.barrier()
    dist.destroy_process_group()


def in_ranks(work, world: int = 2) -> None:
    """Run `work(rank, model)` in several processes."""
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(_rank, (world, os.path.join(folder, "rendezvous"), work), nprocs=world)
