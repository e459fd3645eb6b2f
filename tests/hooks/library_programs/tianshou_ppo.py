"""PPO with Tianshou's trainer; prints what it did."""

import gymnasium as gym
import numpy as np
import torch
from tianshou.algorithm import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, CollectStats, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OnPolicyTrainerParams
from tianshou.utils.net.common import Net
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic

torch.set_num_threads(1)
torch.manual_seed(0)
np.random.seed(0)
train = DummyVectorEnv([lambda: gym.make("CartPole-v1") for _ in range(8)])
train.seed(0)
actor = DiscreteActor(preprocess_net=Net(state_shape=(4,), hidden_sizes=[64, 64]), action_shape=2)
critic = DiscreteCritic(preprocess_net=Net(state_shape=(4,), hidden_sizes=[64, 64]))
policy = DiscreteActorPolicy(actor=actor, action_space=gym.make("CartPole-v1").action_space)
algorithm = PPO(policy=policy, critic=critic, optim=AdamOptimizerFactory(lr=3e-4))
collector = Collector[CollectStats](policy, train, VectorReplayBuffer(4096, 8))
algorithm.run_training(
    OnPolicyTrainerParams(
        max_epochs=2,
        epoch_num_steps=2048,
        training_collector=collector,
        test_collector=None,
        batch_size=64,
        collection_step_num_env_steps=512,
        update_step_num_repetitions=4,
        show_progress=False,
        verbose=False,
    )
)
# Each of 8 collections of 512 steps is gone through 4 times, 64 rows at a time.
print(collector.collect_step, collector.collect_episode, 8 * 4 * 8, 8 * 4 * 512)
