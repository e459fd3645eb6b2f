# plants: redundant-work-in-step @ rules = [self._parse(text) for text in self.table.splitlines()]
"""Packet routing as a gym environment, learned with Tianshou's DQN."""

import argparse
import re
import time

import gymnasium as gym
import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

PATTERN = r"route\s+(\d+)\.(\d+)\s+via\s+port(\d)\s+cost\s+([\d.]+)"


def make_table(seed, rows=60):
    g = np.random.default_rng(seed)
    return "\n".join(
        f"route {g.integers(8)}.{g.integers(8)}  via port{g.integers(4)} cost {g.uniform(1, 9):.2f}"
        for _ in range(rows)
    )


class Router(gym.Env):
    def __init__(self, seed, parse_once):
        self.table = make_table(seed)
        self.g = np.random.default_rng(seed)
        self.observation_space = gym.spaces.Box(0, 10, (12,), np.float32)
        self.action_space = gym.spaces.Discrete(4)
        self.rules = [self._parse(t) for t in self.table.splitlines()] if parse_once else None

    def _parse(self, text):
        major, minor, port, cost = re.match(PATTERN, text).groups()
        return int(major), int(minor), int(port), float(cost)

    def _costs(self):
        rules = self.rules
        if rules is None:
            rules = [self._parse(text) for text in self.table.splitlines()]
        cheapest = [10.0] * 4
        for major, _, port, cost in rules:
            if major == self.target[0]:
                cheapest[port] = min(cheapest[port], cost)
        return cheapest

    def _observe(self):
        self.cheapest = self._costs()
        where = [0.0] * 8
        where[self.target[0]] = 1.0
        return np.array([*self.cheapest, *where], dtype=np.float32)

    def reset(self, *, seed=None, options=None):
        self.sent = 0
        self.target = tuple(self.g.integers(8, size=2))
        return self._observe(), {}

    def step(self, action):
        reward = -self.cheapest[int(action)] / 10 + 0.01 * self.g.normal()
        self.sent += 1
        self.target = tuple(self.g.integers(8, size=2))
        return self._observe(), float(reward), False, self.sent >= 50, {}


if __name__ == "__main__":
    cli = argparse.ArgumentParser()
    cli.add_argument("--fixed", action="store_true")
    cli.add_argument("--epochs", type=int, default=8)
    opts = cli.parse_args()
    torch.set_num_threads(1)
    np.random.seed(0)
    envs = DummyVectorEnv([lambda i=i: Router(i, opts.fixed) for i in range(8)])
    shape = 12
    net = Net(state_shape=shape, action_shape=4, hidden_sizes=[64, 64])
    policy = DiscreteQLearningPolicy(
        model=net, action_space=envs.action_space[0], eps_training=0.2, eps_inference=0.0
    )
    algorithm = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), target_update_freq=200)
    collector = Collector(algorithm, envs, VectorReplayBuffer(20000, 8), exploration_noise=True)
    start = time.process_time()
    result = algorithm.run_training(
        OffPolicyTrainerParams(
            max_epochs=opts.epochs,
            epoch_num_steps=1600,
            collection_step_num_env_steps=80,
            update_step_num_gradient_steps_per_sample=0.05,
            batch_size=64,
            training_collector=collector,
            verbose=False,
            show_progress=False,
        )
    )
    print(f"cpu {time.process_time() - start:.2f} work {opts.epochs * 1600}")
