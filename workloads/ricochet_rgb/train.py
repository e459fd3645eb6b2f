"""Train a recurrent agent to play with sliding robots from pictures: `python train.py --help`."""

from __future__ import annotations

import sys
from functools import partial

from options import parse_options

LIBRARIES = {"PIL", "gymnasium", "hotloop", "numpy", "torch"}


def main() -> int:
    """Run the program and return its exit code."""
    options = parse_options()
    try:
        from training import DeviceNotAvailableError, train
    except ModuleNotFoundError as error:
        if error.name not in LIBRARIES:
            raise
        print(f"ricochet_rgb needs {error.name}: pip install 'hotloop[ricochet]'", file=sys.stderr)
        return 2
    try:
        train(options, say=partial(print, flush=True))
    except DeviceNotAvailableError as error:
        print(f"train.py: error: argument --device: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
