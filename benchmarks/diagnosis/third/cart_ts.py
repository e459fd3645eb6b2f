# plants: subprocess-overhead @ venv_cls = DummyVectorEnv if args.fixed else SubprocVectorEnv
import argparse
import time

import gymnasium as gym
import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, CollectStats, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, SubprocVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net


class ScaledObs(gym.ObservationWrapper):
    """CartPole's four numbers brought to about one."""

    SCALE = np.array([2.4, 3.0, 0.21, 3.0], dtype=np.float32)

    def __init__(self, env):
        super().__init__(env)
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (4,), np.float32)

    def observation(self, observation):
        return observation / self.SCALE


def make_env():
    return ScaledObs(gym.make("CartPole-v1"))


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=46000)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--seed", type=int, default=1626)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--gamma", type=float, default=0.9)
    parser.add_argument("--n-step", type=int, default=3)
    parser.add_argument("--target-update-freq", type=int, default=320)
    parser.add_argument("--buffer-size", type=int, default=20000)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--training-num", type=int, default=10)
    parser.add_argument("--hidden-sizes", type=int, nargs="*", default=[64, 64])
    return parser.parse_args()


def train(args):
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    env = make_env()

    venv_cls = DummyVectorEnv if args.fixed else SubprocVectorEnv
    train_envs = venv_cls([make_env for _ in range(args.training_num)])
    train_envs.seed(args.seed)

    net = Net(
        state_shape=env.observation_space.shape,
        action_shape=env.action_space.n,
        hidden_sizes=args.hidden_sizes,
    )
    policy = DiscreteQLearningPolicy(
        model=net,
        action_space=env.action_space,
        observation_space=env.observation_space,
        eps_training=0.1,
        eps_inference=0.05,
    )
    algorithm = DQN(
        policy=policy,
        optim=AdamOptimizerFactory(lr=args.lr),
        gamma=args.gamma,
        n_step_return_horizon=args.n_step,
        target_update_freq=args.target_update_freq,
    )
    buffer = VectorReplayBuffer(args.buffer_size, buffer_num=args.training_num)
    collector = Collector[CollectStats](algorithm, train_envs, buffer, exploration_noise=True)
    collector.reset()
    collector.collect(n_step=args.batch_size * args.training_num)

    def schedule(epoch, env_step):
        policy.set_eps_training(max(0.05, 0.3 - env_step / args.steps * 0.5))

    epochs = max(1, args.steps // 4000)
    start = time.perf_counter()
    result = algorithm.run_training(
        OffPolicyTrainerParams(
            training_collector=collector,
            max_epochs=epochs,
            epoch_num_steps=args.steps // epochs,
            collection_step_num_env_steps=100,
            update_step_num_gradient_steps_per_sample=0.02,
            batch_size=args.batch_size,
            training_fn=schedule,
            test_in_training=False,
            show_progress=False,
        )
    )
    seconds = time.perf_counter() - start
    print("gradient steps", result.timing.update_speed if hasattr(result, "timing") else "")
    print(f"loop_s {seconds:.3f} steps {args.steps}")
    train_envs.close()


if __name__ == "__main__":
    train(get_args())
