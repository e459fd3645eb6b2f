# plants: redundant-work-in-step @ levels = np.sort(
# plants: evaluation @ test_step_num_episodes=
"""Tianshou's DQN for a market maker: order statistics of the whole day per step (larger),
many test episodes (smaller).
"""

import sys
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

torch.set_num_threads(1)
FIX1 = "--fixed" in sys.argv or "--fixed1" in sys.argv
FIX2 = "--fixed" in sys.argv or "--fixed2" in sys.argv
DAY = np.cumsum(np.random.default_rng(0).normal(0, 1, 6000))
SORTED = np.sort(DAY)


class Quotes(gym.Env):
    def __init__(self):
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (6,), np.float32)
        self.action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t, self.stock = int(self.np_random.integers(100, 5000)), 0
        self.end = self.t + 100
        return self.features(), {}

    def features(self):
        """Where today's price stands among all prices of the day."""
        if FIX1:
            rank = np.searchsorted(SORTED, DAY[self.t]) / len(DAY)
            span = SORTED[-1] - SORTED[0]
        else:
            levels = np.sort(DAY)
            rank = np.mean(levels <= DAY[self.t])
            span = np.percentile(DAY, 100) - np.percentile(DAY, 0)
        change = DAY[self.t - 3 : self.t] / span
        return np.array([rank, *change, self.stock / 5, DAY[self.t] / span], np.float32)

    def step(self, action):
        self.stock = int(np.clip(self.stock + action - 1, -5, 5))
        before, self.t = DAY[self.t], self.t + 1
        reward = self.stock * (DAY[self.t] - before) / 10
        return self.features(), float(reward), False, self.t >= self.end, {}


def main():
    train, test = DummyVectorEnv([Quotes] * 8), DummyVectorEnv([Quotes] * 4)
    net = Net(state_shape=(6,), action_shape=3, hidden_sizes=[64, 64])
    policy = DiscreteQLearningPolicy(
        model=net, action_space=Quotes().action_space, eps_training=0.1
    )
    algorithm = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), target_update_freq=200)
    steps = 6000
    params = OffPolicyTrainerParams(
        training_collector=Collector(algorithm, train, VectorReplayBuffer(10000, 8)),
        test_collector=Collector(algorithm, test),
        max_epochs=4,
        epoch_num_steps=steps // 4,
        collection_step_num_env_steps=16,
        update_step_num_gradient_steps_per_sample=0.0625,
        batch_size=64,
        test_step_num_episodes=4 if FIX2 else 24,
        show_progress=False,
    )
    start = time.perf_counter()
    algorithm.run_training(params)
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s")


main()
