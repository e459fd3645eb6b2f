"""A DQN in plain PyTorch on one environment."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "programs"))

from _environments import Walk
from _training import dqn

if __name__ == "__main__":
    dqn(Walk(), 8_000, every=1)
