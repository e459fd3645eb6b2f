"""The same with 16 environments in each runner."""

from few_envs_per_runner_slow import main

if __name__ == "__main__":
    main(num_envs_per_env_runner=16)
