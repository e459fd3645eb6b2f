"""PPO of RLlib's new API stack with a number of environment runners and learners in actors."""

import sys

import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig

MEGABYTE = 1024 * 1024


def main():
    runners, learners = map(int, sys.argv[1:3])
    torch.set_num_threads(1)
    ray.init(
        num_cpus=2,
        object_store_memory=100 * MEGABYTE,
        include_dashboard=False,
        log_to_driver=False,
        _node_ip_address="127.0.0.1",
    )
    try:
        config = (
            PPOConfig()
            .environment("CartPole-v1")
            .env_runners(num_env_runners=runners)
            .learners(num_learners=learners)
            .training(train_batch_size=1000, minibatch_size=128, num_epochs=4)
            .debugging(seed=0)
        )
        algorithm = config.build_algo()
        try:
            episodes = 0
            for _ in range(3):
                sampled = algorithm.train()["env_runners"]
                episodes += int(sampled["num_episodes"])
            print(int(sampled["num_env_steps_sampled_lifetime"]), episodes)
        finally:
            algorithm.stop()
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
