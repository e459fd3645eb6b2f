"""A heavy simulator where it belongs: as many processes as there are cores."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "programs"))

import gymnasium as gym
from _environments import Pendulums
from _training import a2c


def heavy() -> gym.Env:
    return Pendulums(substeps=800)


if __name__ == "__main__":
    envs = gym.vector.AsyncVectorEnv([heavy] * min(len(os.sched_getaffinity(0)), 4))
    a2c(envs, 30, 32, epochs=20, hidden=128)
    envs.close()
