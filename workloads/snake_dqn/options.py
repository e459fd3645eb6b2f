"""The command line of the Snake trainer.

Kept free of torch, so that `--help` and a mistyped argument answer at once, and also on a machine
where torch is not installed.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

PushMode = Literal["loop", "batch"]
FloodFillMode = Literal["off", "python", "vectorized"]
DeviceName = Literal["auto", "cpu", "cuda", "mps"]

DEFAULT_STEPS = 1_500_000
DEFAULT_TRAIN_RATIO = 2.0
# `--slow` makes one gradient step for every four environments: 64 at 256 environments.
SLOW_ENVIRONMENTS_PER_GRADIENT_STEP = 4

DESCRIPTION = """\
Train a DQN on many games of Snake that are played together, as tensors, in one process.
"""

EPILOG = """\
A vector step moves every snake once, so it makes as many environment steps as there are
environments. The run ends at --steps or --episodes, whichever comes first. Episodes get longer as
the snakes learn: compare runs by environment steps, not by episodes.
"""


@dataclass(frozen=True)
class Options:
    """What one training run was asked to do. A limit of None means "no such limit"."""

    envs: int
    board: int
    steps: int | None
    episodes: int | None
    push: PushMode
    train_ratio: float
    flood_fill: FloodFillMode
    batch_size: int
    hidden: int
    device: DeviceName
    threads: int
    log_every: int
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


def ratio(text: str) -> float:
    """An argparse type: a finite number, zero or more."""
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not math.isfinite(number) or number < 0:
        raise argparse.ArgumentTypeError(f"must be zero or more, not {text}")
    return number


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
        help="stop after this many environment steps, all games together "
        f"(default: {DEFAULT_STEPS}, or no limit where --episodes is given)",
    )
    group.add_argument(
        "--episodes",
        type=whole_number(1),
        default=argparse.SUPPRESS,
        help="stop after this many finished games (default: no limit)",
    )
    group.add_argument("--envs", type=whole_number(1), default=256, help="games played together")
    group.add_argument("--board", type=whole_number(5), default=10, help="cells along one side")
    group.add_argument("--seed", type=whole_number(0), default=0, help="for every random choice")
    group.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda", "mps"),
        default="auto",
        help="where games and network live; auto takes cuda, then mps, then cpu",
    )
    group.add_argument(
        "--log-every",
        type=whole_number(1),
        default=200,
        metavar="N",
        help="a progress line every N vector steps",
    )
    group.add_argument(
        "--no-evaluation",
        dest="evaluate",
        action="store_false",
        help="skip the games against a random player after training",
    )


def add_speed_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what decides the speed")
    group.add_argument(
        "--slow",
        action="store_true",
        default=argparse.SUPPRESS,
        help="the slow settings in one flag: --push loop and --train-ratio max(1, envs // 4)",
    )
    group.add_argument(
        "--push",
        choices=("loop", "batch"),
        default=argparse.SUPPRESS,
        help="store transitions one game at a time, with two array copies and three scalar reads "
        "off the device for each, or all games in one copy (default: batch)",
    )
    group.add_argument(
        "--train-ratio",
        type=ratio,
        default=argparse.SUPPRESS,
        metavar="R",
        help="gradient steps for each vector step; 0.25 is one every fourth, 0 is none "
        f"(default: {DEFAULT_TRAIN_RATIO:g})",
    )
    group.add_argument(
        "--flood-fill",
        choices=("off", "python", "vectorized"),
        default="off",
        help="also observe how much free space lies ahead, right and left: searched game by game "
        "in Python, or for all games at once on tensors (same numbers)",
    )
    group.add_argument(
        "--batch-size", type=whole_number(1), default=128, help="transitions in a gradient step"
    )
    group.add_argument(
        "--hidden", type=whole_number(1), default=128, help="units in each of two hidden layers"
    )
    group.add_argument(
        "--threads",
        type=whole_number(1),
        default=1,
        help="torch's CPU threads; tensors this small gain little from a second, and lose much "
        "on a busy machine, where threads wait for each other after every operation",
    )


def parse_options(arguments: Sequence[str] | None = None) -> Options:
    """Read the command line; a mistake ends the program with one line and exit code 2."""
    parser = build_parser()
    given = vars(parser.parse_args(arguments))
    slow = given.pop("slow", False)
    if slow and ("push" in given or "train_ratio" in given):
        parser.error("argument --slow: sets --push and --train-ratio itself; leave those out")
    if slow:
        given["push"] = "loop"
        given["train_ratio"] = float(max(1, given["envs"] // SLOW_ENVIRONMENTS_PER_GRADIENT_STEP))
    defaults: dict[str, Any] = {
        "push": "batch",
        "train_ratio": DEFAULT_TRAIN_RATIO,
        "steps": None if "episodes" in given else DEFAULT_STEPS,
        "episodes": None,
    }
    return Options(**(defaults | given))
