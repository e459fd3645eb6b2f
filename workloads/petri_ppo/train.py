"""Train a PPO agent to schedule jobs on a timed Petri net: `python train.py --help`."""

from __future__ import annotations

import sys
from functools import partial

from options import parse_options

LIBRARIES = {"tensordict", "torch", "torchrl"}


def main() -> int:
    """Run the program and return its exit code."""
    options = parse_options()
    try:
        from training import train
    except ModuleNotFoundError as error:
        if error.name not in LIBRARIES:
            raise
        print(f"petri_ppo needs {error.name}: pip install 'hotloop[petri]'", file=sys.stderr)
        return 2
    train(options, say=partial(print, flush=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
