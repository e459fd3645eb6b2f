"""RLlib PPO with one environment in each of two runners."""

import ray
from ray.rllib.algorithms.ppo import PPOConfig


def main(iterations: int = 4, **runners: int) -> None:
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    config = (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=2, **runners)
        .training(train_batch_size=4000, minibatch_size=512, num_epochs=2)
        .debugging(seed=0)
    )
    algorithm = config.build_algo()
    for _ in range(iterations):
        algorithm.train()
    algorithm.stop()
    ray.shutdown()


if __name__ == "__main__":
    main()
