"""The command line of the program. It imports nothing heavy, so that `--help` answers at once."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROLLOUT_STEPS = 2048  # steps between two updates, over all environments together
TRAINING_DAYS = 4000
TESTING_DAYS = 121
EPISODE_DAYS = 30
FEATURES_NEED_DAYS = 60  # of history before the first day that can be traded


@dataclass(frozen=True)
class Options:
    """Everything that a run depends on."""

    timesteps: int
    windows: int
    envs: int
    vec: str
    device: str
    batch_size: int
    hidden: tuple[int, ...]
    data: str
    data_dir: Path
    days: int
    threads: int
    seed: int


def make_parser() -> argparse.ArgumentParser:
    """The parser whose results fill `Options`."""
    parser = argparse.ArgumentParser(
        description="Learn to manage a portfolio with PPO, on sliding windows of market data.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--timesteps", type=_at_least(1), default=90_000, help="environment steps in all")
    add("--windows", type=_at_least(1), default=3, help="training windows to slide over")
    add("--envs", type=_at_least(1), default=4, help="environments that are stepped together")
    add("--vec", choices=("dummy", "subproc"), default="dummy", help="where environments live")
    add("--device", choices=("auto", "cpu", "cuda", "mps"), default="auto", help="to train on")
    add("--batch-size", type=_at_least(2), default=256, help="rows in each gradient step")
    add(
        "--hidden",
        type=_at_least(1),
        nargs="+",
        default=(64, 64),
        metavar="UNITS",
        help="units in each hidden layer",
    )
    add("--data", choices=("parquet", "csv"), default="parquet", help="preprocessed, or raw")
    add("--data-dir", type=Path, default=Path("runs", "portfolio_ppo"), help="where it is kept")
    add("--days", type=_at_least(2), default=5000, help="days in the invented market")
    # Networks this small gain nothing from a second thread, and lose much where cores are shared.
    add("--threads", type=_at_least(1), default=1, help="threads that PyTorch may use")
    add("--seed", type=_at_least(0), default=0, help="draws the market and the agent's choices")
    return parser


def parse_options(arguments: Sequence[str] | None = None) -> Options:
    """Read the command line; what is wrong with it goes to stderr with exit code 2."""
    parser = make_parser()
    values = vars(parser.parse_args(arguments))
    options = Options(**values | {"hidden": tuple(values["hidden"])})
    if options.envs > ROLLOUT_STEPS or ROLLOUT_STEPS % options.envs:
        parser.error(f"argument --envs: {ROLLOUT_STEPS} is not a multiple of {options.envs}")
    if options.batch_size > ROLLOUT_STEPS:
        parser.error(f"argument --batch-size: {options.batch_size} is more than {ROLLOUT_STEPS}")
    needed = FEATURES_NEED_DAYS + TRAINING_DAYS + options.windows * TESTING_DAYS
    if options.days < needed:
        parser.error(f"argument --days: {options.windows} windows need at least {needed} days")
    return options


def _at_least(lowest: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if number < lowest:
            raise argparse.ArgumentTypeError(f"{number} is less than {lowest}")
        return number

    return parse
