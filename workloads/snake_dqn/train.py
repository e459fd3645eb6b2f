"""Train a DQN to play Snake: `python train.py --help` lists the settings."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from options import Options, parse_options

if TYPE_CHECKING:
    from trainer import Summary

LIBRARIES = ("numpy", "torch")


def fail(message: str) -> int:
    print(f"train.py: error: {message}", file=sys.stderr)
    return 2


def main() -> int:
    options = parse_options()
    missing = [name for name in LIBRARIES if find_spec(name) is None]
    if missing:
        return fail(f"not installed: {', '.join(missing)}; run: pip install 'hotloop[snake]'")
    from trainer import DeviceUnavailableError, Trainer  # it imports the libraries looked for above

    try:
        trainer = Trainer(options)
    except DeviceUnavailableError as unavailable:
        return fail(str(unavailable))
    print_settings(options, str(trainer.device))
    print_summary(trainer.run())
    return 0


def print_settings(options: Options, device: str) -> None:
    print(
        f"Snake DQN: {options.envs} games of {options.board} by {options.board} on {device}, "
        f"push {options.push}, {options.train_ratio:g} gradient steps per vector step, "
        f"flood fill {options.flood_fill}, seed {options.seed}",
        flush=True,
    )


def print_summary(summary: Summary) -> None:
    print(f"Total environment steps: {summary.env_steps}")
    print(f"Episodes completed: {summary.episodes}")
    print(f"Steps per episode (avg): {summary.steps_per_episode:.1f}")
    print(f"Gradient steps: {summary.gradient_steps}")
    print(f"Wall time: {summary.wall_s:.2f} s")
    print(f"Weights: {summary.weights}")
    if summary.learned is not None and summary.random is not None:
        for player, score in (("learned", summary.learned), ("random", summary.random)):
            print(
                f"Return of the {player} player: {score.mean:.2f} "
                f"(standard error {score.standard_error:.2f}, {score.games} games)"
            )


if __name__ == "__main__":
    sys.exit(main())
