"""A training program that sleeps instead of computing: its phases take as long as one asks."""

from __future__ import annotations

from pathlib import Path

import pytest

PROGRAM = """
import argparse, time
from hotloop import count, profile, profile_function

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=40)
parser.add_argument("--env-ms", type=float, default=2.0)
parser.add_argument("--learn-ms", type=float, default=2.0)
parser.add_argument("--updates", type=int, default=1)
parser.add_argument("--envs", type=int, default=1)
parser.add_argument("--fail", action="store_true")
options = parser.parse_args()

@profile_function("env.step")
def step(action):
    time.sleep(options.env_ms / 1000)
    return action

@profile_function("learn")
def learn():
    time.sleep(options.learn_ms / 1000)
    count("gradient_steps")

for number in range(options.steps):
    with profile("collect"):
        step("forward")
        count("env_steps", options.envs)
    for _ in range(options.updates):
        learn()
    if options.fail and number > 5:
        print("step", number)
        raise RuntimeError("loss is nan")
print("done")
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A folder with that program in it, as train.py."""
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path
