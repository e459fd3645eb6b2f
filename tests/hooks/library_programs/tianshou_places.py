"""Keeps places of a training busy: seconds a call for each of them are given."""

import sys

import numpy as np
import torch
from busy import busy
from gymnasium.envs.classic_control import CartPoleEnv
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import TorchOptimizerFactory
from tianshou.data import Collector, CollectStats, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils import LazyLogger
from tianshou.utils.net.common import Net

IN_ENV, IN_POLICY, IN_BUFFER, IN_LOSS, IN_OPTIMIZER, IN_LOG = map(float, sys.argv[1:7])


class Slow(CartPoleEnv):
    def step(self, action):
        busy(IN_ENV, "env.step")
        return super().step(action)


class Policy(DiscreteQLearningPolicy):
    def add_exploration_noise(self, act, batch):
        busy(IN_POLICY, "policy.act")
        return super().add_exploration_noise(act, batch)


class Buffer(VectorReplayBuffer):
    def sample(self, batch_size):
        busy(IN_BUFFER, "buffer.sample")
        return super().sample(batch_size)


class Slowly(torch.autograd.Function):
    """The identity, which takes its time: something between the network and the gradient."""

    @staticmethod
    def forward(context, values):
        busy(IN_LOSS, "learn.loss")
        return values.clone()

    @staticmethod
    def backward(context, gradient):
        return gradient


class SlowLoss(DQN):
    def _update_with_batch(self, batch):
        mean = torch.Tensor.mean

        def slow_mean(self, *args, **kwargs):
            torch.Tensor.mean = mean
            return mean(Slowly.apply(self), *args, **kwargs)

        torch.Tensor.mean = slow_mean
        return super()._update_with_batch(batch)


class Adam(torch.optim.Adam):
    def step(self, closure=None):
        busy(IN_OPTIMIZER, "learn.optimizer")
        return super().step(closure)


class Log(LazyLogger):
    def log_update_data(self, log_data, step):
        busy(IN_LOG, "log")
        return super().log_update_data(log_data, step)


torch.set_num_threads(1)
torch.manual_seed(0)
np.random.seed(0)
train = DummyVectorEnv([Slow])
train.seed(0)
policy = Policy(
    model=Net(state_shape=(4,), action_shape=2, hidden_sizes=[32]),
    action_space=Slow().action_space,
    eps_training=0.1,
)
algorithm = SlowLoss(policy=policy, optim=TorchOptimizerFactory(Adam, lr=1e-3))
collector = Collector[CollectStats](policy, train, Buffer(500, 1), exploration_noise=True)
algorithm.run_training(
    OffPolicyTrainerParams(
        max_epochs=1,
        epoch_num_steps=160,
        training_collector=collector,
        test_collector=None,
        batch_size=16,
        collection_step_num_env_steps=4,
        update_step_num_gradient_steps_per_sample=0.25,
        logger=Log(),
        show_progress=False,
        verbose=False,
    )
)
