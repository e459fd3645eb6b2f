"""The same environments side by side."""

import gymnasium as gym
from serial_heavy_env_slow import main

if __name__ == "__main__":
    main(gym.vector.AsyncVectorEnv)
