"""DQN with Tianshou's trainer, a test collector and TensorBoard; prints what it did."""

import hashlib
import sys

import gymnasium as gym
import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, CollectStats, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils import TensorboardLogger
from tianshou.utils.net.common import Net
from torch.utils.tensorboard import SummaryWriter

torch.set_num_threads(1)
torch.manual_seed(0)
np.random.seed(0)
train = DummyVectorEnv([lambda: gym.make("CartPole-v1") for _ in range(4)])
test = DummyVectorEnv([lambda: gym.make("CartPole-v1") for _ in range(2)])
train.seed(0)
test.seed(1)
space = gym.make("CartPole-v1").action_space
net = Net(state_shape=(4,), action_shape=2, hidden_sizes=[128, 128, 128])
policy = DiscreteQLearningPolicy(
    model=net, action_space=space, eps_training=0.1, eps_inference=0.05
)
algorithm = DQN(
    policy=policy,
    optim=AdamOptimizerFactory(lr=1e-3),
    n_step_return_horizon=3,
    target_update_freq=320,
)
collector = Collector[CollectStats](
    policy, train, VectorReplayBuffer(5000, 4), exploration_noise=True
)
collector.reset()
warm_up = collector.collect(n_step=128, random=True)
result = algorithm.run_training(
    OffPolicyTrainerParams(
        max_epochs=2,
        epoch_num_steps=1500,
        training_collector=collector,
        test_collector=Collector[CollectStats](policy, test),
        test_step_num_episodes=4,
        batch_size=64,
        collection_step_num_env_steps=8,
        update_step_num_gradient_steps_per_sample=0.25,
        logger=TensorboardLogger(SummaryWriter(sys.argv[1])),
        verbose=False,
    )
)
# Two gradient steps follow each collection of eight.
updates = 2 * result.update_step
steps = warm_up.n_collected_steps + collector.collect_step
episodes = warm_up.n_collected_episodes + collector.collect_episode
weights = b"".join(p.detach().numpy().tobytes() for p in algorithm.parameters())
print(steps, episodes, updates, updates * 64, hashlib.sha256(weights).hexdigest())
