"""An actor-critic in plain PyTorch on sixteen environments."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "programs"))

import gymnasium as gym
from _training import a2c

if __name__ == "__main__":
    envs = gym.make_vec("CartPole-v1", num_envs=16, vectorization_mode="sync")
    a2c(envs, 80, 32, epochs=2)
