"""The same with eight environments and the same rollout."""

from single_env_slow import main

if __name__ == "__main__":
    main(envs=8)
