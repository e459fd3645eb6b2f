"""The command line of the program. It imports nothing heavy, so that `--help` answers at once."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

DEFAULT_REPORT = Path("profiling_report.json")
MOST_ROBOTS = 4
SMALLEST_PICTURE = 8  # the encoder halves it twice, and needs something left to look at


@dataclass(frozen=True)
class Options:
    """Everything that a run depends on."""

    timesteps: int
    envs: int
    rollout_steps: int
    epochs: int
    minibatches: int
    learning_rate: float
    board_size: int
    walls: int
    targets: int
    robots: int
    pixels: int
    channels: int
    lstm_layers: int
    features: int
    device: str
    threads: int
    eval_episodes: int
    enable_profiling: bool
    profiling_report: Path
    profiling_summary_freq: int
    seed: int


def make_parser() -> argparse.ArgumentParser:
    """The parser whose results fill `Options`."""
    parser = argparse.ArgumentParser(
        description="Learn to play with sliding robots from pictures, with a ConvLSTM and PPO.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    training = parser.add_argument_group("training").add_argument
    training("--timesteps", type=_at_least(1), default=24_000, help="environment steps in all")
    training("--envs", type=_at_least(1), default=16, help="games that are played together")
    training("--rollout-steps", type=_at_least(1), default=16, help="steps between updates")
    training("--epochs", type=_at_least(1), default=4, help="passes over each rollout")
    training("--minibatches", type=_at_least(1), default=2, help="parts of each pass")
    training("--learning-rate", type=_positive, default=2e-3, help="of the optimizer")
    training("--eval-episodes", type=_at_least(2), default=100, help="to judge the result by")
    training("--seed", type=_at_least(0), default=0, help="draws the board and all choices")
    game = parser.add_argument_group("game").add_argument
    game("--board-size", type=_at_least(4), default=5, help="cells a side")
    game("--walls", type=_at_least(0), default=5, help="inner walls")
    game("--targets", type=_at_least(1), default=1, help="different targets, one per game")
    game("--robots", type=_at_least(1), default=2, help=f"at most {MOST_ROBOTS}")
    game("--pixels", type=_at_least(SMALLEST_PICTURE), default=20, help="picture's side, even")
    network = parser.add_argument_group("network").add_argument
    network("--channels", type=_at_least(1), default=16, help="of convolutions and memory")
    network("--lstm-layers", type=_at_least(1), default=1, help="ConvLSTM layers")
    network("--features", type=_at_least(1), default=64, help="that the encoder ends in")
    network("--device", choices=("cpu", "cuda"), default="cpu", help="to train on")
    # Networks this small gain little from a second thread, and lose much where cores are shared.
    network("--threads", type=_at_least(1), default=1, help="threads that PyTorch may use")
    profiling = parser.add_argument_group("profiling").add_argument
    profiling("--enable-profiling", action="store_true", help="measure, and write a report")
    profiling(
        "--profiling-report", type=Path, default=DEFAULT_REPORT, metavar="FILE", help="as JSON"
    )
    profiling(
        "--profiling-summary-freq",
        type=_at_least(0),
        default=10_000,
        metavar="N",
        help="steps between summaries on the terminal; 0: none",
    )
    return parser


def parse_options(arguments: Sequence[str] | None = None) -> Options:
    """Read the command line; what is wrong with it goes to stderr with exit code 2."""
    parser = make_parser()
    options = Options(**vars(parser.parse_args(arguments)))
    if options.robots > MOST_ROBOTS:
        parser.error(f"argument --robots: {options.robots} is more than {MOST_ROBOTS}")
    if options.targets > options.board_size:
        parser.error(f"argument --targets: more than the {options.board_size} cells of a side")
    if options.pixels % 2:
        parser.error(f"argument --pixels: {options.pixels} is not even")
    if options.minibatches > options.envs:
        parser.error(f"argument --minibatches: more than the {options.envs} environments")
    # A run is too long to find out only at its end that its report has nowhere to go.
    if options.enable_profiling and not options.profiling_report.parent.is_dir():
        folder = options.profiling_report.parent
        parser.error(f"argument --profiling-report: there is no folder {str(folder)!r}")
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


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0.0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number
