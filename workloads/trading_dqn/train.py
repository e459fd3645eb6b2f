"""Train a DQN to trade: `python train.py --help` lists the settings."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from options import Options, parse_options

if TYPE_CHECKING:
    from trainer import Summary

LIBRARIES = ("gymnasium", "keras", "numpy", "pandas", "tensorflow")


def main() -> int:
    options = parse_options()
    missing = [name for name in LIBRARIES if find_spec(name) is None]
    if missing:
        message = f"not installed: {', '.join(missing)}; run: pip install 'hotloop[trading]'"
        print(f"train.py: error: {message}", file=sys.stderr)
        return 2
    prepare_tensorflow()
    from trainer import Trainer  # not before here: it imports the libraries looked for above

    print_settings(options)
    print_summary(Trainer(options).run())
    return 0


def prepare_tensorflow() -> None:
    """Both libraries read these once, while they are imported."""
    os.environ["KERAS_BACKEND"] = "tensorflow"
    # Without oneDNN's reordered sums, results agree between kinds of CPU, and a notice is spared.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def print_settings(options: Options) -> None:
    print(
        f"Trading DQN: act {options.act}, features {options.features}, "
        f"batch size {options.batch_size}, {options.hidden} hidden units, "
        f"{'mixed precision' if options.mixed_precision else 'float32'}, "
        f"database every {options.log_every} steps, seed {options.seed}",
        flush=True,
    )


def print_summary(summary: Summary) -> None:
    print(f"Total environment steps: {summary.env_steps}")
    print(f"Episodes completed: {summary.episodes}")
    print(f"Gradient steps: {summary.gradient_steps}")
    print(f"Wall time: {summary.wall_s:.2f} s")
    print(f"Weights: {summary.weights}")
    if summary.learned is not None and summary.random is not None:
        for trader, score in (("learned", summary.learned), ("random", summary.random)):
            print(
                f"Return of the {trader} trader: {score.mean:.2f}% "
                f"(standard error {score.standard_error:.2f}, {score.episodes} episodes)"
            )


if __name__ == "__main__":
    sys.exit(main())
