"""The command line of the trading trainer.

Kept free of Keras and pandas, so that `--help` and a mistyped argument answer at once, and also
where those are not installed.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

ActMode = Literal["predict", "call"]
FeatureMode = Literal["once", "each-step"]

DEFAULT_STEPS = 700

DESCRIPTION = """\
Train a DQN to trade a made-up market whose trends and ranges show in its technical indicators.
Nothing is downloaded: the market is generated from the seed and kept as a CSV file.
"""

EPILOG = """\
The run ends at --steps or --episodes, whichever comes first. Trades and the account's value go to
trades.sqlite in the data folder.
"""


@dataclass(frozen=True)
class Options:
    """What one training run was asked to do. A limit of None means "no such limit"."""

    steps: int | None
    episodes: int | None
    act: ActMode
    features: FeatureMode
    batch_size: int
    hidden: int
    mixed_precision: bool
    log_every: int
    data_dir: Path
    evaluate: bool
    seed: int


def whole_number(minimum: int) -> Callable[[str], int]:
    """An argparse type: an integer of at least `minimum`."""

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if number < minimum:
            raise argparse.ArgumentTypeError(f"must be at least {minimum}, not {number}")
        return number

    return parse


def folder(text: str) -> Path:
    """An argparse type: a folder to write to, made where it is missing."""
    path = Path(text).expanduser()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text}: {error.strerror}") from None
    if not os.access(path, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text}: not writable")
    return path


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="train.py",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add_run_arguments(parser)
    add_speed_arguments(parser)
    return parser


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the run")
    group.add_argument(
        "--steps",
        type=whole_number(1),
        default=argparse.SUPPRESS,
        help="stop after this many environment steps, one market bar each "
        f"(default: {DEFAULT_STEPS}, or no limit where --episodes is given)",
    )
    group.add_argument(
        "--episodes",
        type=whole_number(1),
        default=argparse.SUPPRESS,
        help="stop after this many episodes of 100 bars (default: no limit)",
    )
    group.add_argument("--seed", type=whole_number(0), default=0, help="for every random choice")
    group.add_argument(
        "--data-dir",
        type=folder,
        default=str(Path(tempfile.gettempdir(), "trading_dqn")),
        help="folder for the market's CSV file and the trades",
    )
    group.add_argument(
        "--no-evaluation",
        dest="evaluate",
        action="store_false",
        help="skip the comparison with a random trader after training",
    )


def add_speed_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what decides the speed")
    group.add_argument(
        "--act",
        choices=("predict", "call"),
        default="predict",
        help="choose an action by model.predict, which sets up an input pipeline and callbacks "
        "for a single row every step, or by calling the model, many times cheaper",
    )
    group.add_argument(
        "--features",
        choices=("once", "each-step"),
        default="once",
        help="compute the indicators of the whole market before training, or those of all bars so "
        "far again at every step, which grows with the market's length (same numbers)",
    )
    group.add_argument(
        "--batch-size",
        type=whole_number(1),
        default=64,
        help="transitions in a gradient step; on a CPU a small batch mostly pays the fixed cost "
        "of the call",
    )
    group.add_argument(
        "--hidden",
        type=whole_number(1),
        default=64,
        help="units in each of two hidden layers; the work grows with the square",
    )
    group.add_argument(
        "--mixed-precision",
        action="store_true",
        help="compute in float16: faster on a GPU made for it, slower on most CPUs",
    )
    group.add_argument(
        "--log-every",
        type=whole_number(1),
        default=50,
        metavar="N",
        help="write trades and the account's value to the database every N steps; 1 waits for "
        "the disk at every step",
    )


def parse_options(arguments: Sequence[str] | None = None) -> Options:
    """Read the command line; a mistake ends the program with one line and exit code 2."""
    given = vars(build_parser().parse_args(arguments))
    limits: dict[str, Any] = {
        "steps": None if "episodes" in given else DEFAULT_STEPS,
        "episodes": None,
    }
    return Options(**(limits | given))
