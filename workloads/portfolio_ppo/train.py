"""Train a PPO agent to manage a portfolio: `python train.py --help`."""

from __future__ import annotations

import sys
from functools import partial

from options import parse_options

LIBRARIES = {"gymnasium", "numpy", "pandas", "pyarrow", "stable_baselines3", "torch"}


def main() -> int:
    """Run the program and return its exit code."""
    options = parse_options()
    try:
        from training import DeviceNotAvailableError, train
    except ModuleNotFoundError as error:
        if error.name not in LIBRARIES:
            raise
        print(
            f"portfolio_ppo needs {error.name}: pip install 'hotloop[portfolio]'", file=sys.stderr
        )
        return 2
    try:
        train(options, say=partial(print, flush=True))
    except DeviceNotAvailableError as error:
        print(f"train.py: error: argument --device: {error}", file=sys.stderr)
        return 2
    return 0


# Worker processes import this file again, and must not train a second time.
if __name__ == "__main__":
    sys.exit(main())
