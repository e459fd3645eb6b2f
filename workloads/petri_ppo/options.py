"""The command line of the program. It imports nothing heavy, so that `--help` answers at once."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """Everything that a run depends on."""

    batches: int
    frames_per_batch: int
    epochs: int
    n_hidden: int
    n_layer: int
    jobs: int
    machines: int
    turbo: bool
    eval_episodes: int
    threads: int
    seed: int


def make_parser() -> argparse.ArgumentParser:
    """The parser whose results fill `Options`."""
    parser = argparse.ArgumentParser(
        description="Learn to schedule a job shop, simulated as a timed Petri net, with PPO.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--batches", type=_at_least(1), default=20, help="batches to collect and learn from")
    add("--frames-per-batch", type=_at_least(16), default=1024, help="steps in each batch")
    add("--epochs", type=_at_least(1), default=6, help="passes over each batch")
    add("--n-hidden", type=_at_least(1), default=128, help="units in each hidden layer")
    add("--n-layer", type=_at_least(1), default=2, help="hidden layers of each network")
    add("--jobs", type=_at_least(1), default=6, help="jobs in the shop")
    add("--machines", type=_at_least(1), default=4, help="machines that every job visits")
    add(
        "--turbo",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="find enabled transitions incrementally; changes the speed and nothing else",
    )
    add("--eval-episodes", type=_at_least(1), default=30, help="episodes to judge the result by")
    # Networks this small gain nothing from a second thread, and lose much where cores are shared.
    add("--threads", type=_at_least(1), default=1, help="threads that PyTorch may use")
    add("--seed", type=_at_least(0), default=0, help="draws the shop and the agent's choices")
    return parser


def parse_options(arguments: Sequence[str] | None = None) -> Options:
    """Read the command line; what is wrong with it goes to stderr with exit code 2."""
    return Options(**vars(make_parser().parse_args(arguments)))


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
