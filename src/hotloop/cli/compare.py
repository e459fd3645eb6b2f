"""Measure whether a change made training faster, and in which phase.

  hotloop compare "train.py --no-turbo" "train.py --turbo" --steps 20000
  hotloop compare CAPTURE_A CAPTURE_B

Runs the two commands in interleaved pairs and compares their time per environment step, overall
and by phase. The verdict is about the second command: faster, slower, no difference (within ±x%),
cannot tell (about n more pairs needed), or not comparable (and why). Stops as soon as the verdict
is clear. Two captures are compared window by window; without interleaving that is less certain.

  hotloop compare "train.py --seed {seed}" "train.py --seed {seed} --envs 8" --to-return 195

With --to-return, runs both commands over several seeds until the mean return of the last 100
episodes reaches the target, and judges which gets there sooner: speed and learning together.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hotloop import units
from hotloop.analyze.comparing.defaults import MOST_PAIRS, MOST_PAIRS_UNTIL
from hotloop.cli import experiments
from hotloop.cli.numbers import above_zero, not_negative, percent
from hotloop.cli.selection import has_shards
from hotloop.errors import HotloopError

if TYPE_CHECKING:
    from hotloop.analyze.comparing.compare import Comparison
    from hotloop.analyze.comparing.experiments import PairedResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", help="a command in quotes, or a capture's folder")
    parser.add_argument("second", help="the command or capture to judge against it")
    parser.add_argument(
        "--pairs",
        type=above_zero,
        metavar="N",
        help=f"run exactly N pairs (default: until the verdict is clear, at most {MOST_PAIRS})",
    )
    parser.add_argument(
        "--until",
        type=percent,
        metavar="2%",
        help="continue until the ratio is known to this precision, or the verdict is clear "
        f"(at most --pairs, default {MOST_PAIRS_UNTIL})",
    )
    experiments.add_judging_arguments(parser)
    parser.add_argument(
        "--warm-up",
        type=not_negative,
        default=1,
        metavar="N",
        help="warm-up runs of each command, not counted (default 1)",
    )
    parser.add_argument(
        "--fail-on-regression",
        type=percent,
        metavar="5%",
        help='exit with code 1 if the second is slower by this much; "cannot tell" never fails',
    )
    experiments.add_return_arguments(parser)
    experiments.add_run_arguments(parser)
    experiments.add_output_arguments(parser)


def main(options: argparse.Namespace) -> int:
    experiments.check_output(options)
    if options.to_return is not None:
        from hotloop.cli import to_return

        return to_return.main(options)
    if options.seeds is not None:
        raise HotloopError("--seeds needs --to-return; to compare speed, use --pairs")
    kinds = [has_shards(Path(text)) for text in (options.first, options.second)]
    if all(kinds) and options.phase:
        raise HotloopError(
            "--phase applies to commands; captures keep the phases they were recorded with"
        )
    if all(kinds):
        result = None
        comparison = experiments.compared(Path(options.first), Path(options.second), options)
    elif any(kinds):
        capture, other = (
            (options.first, options.second) if kinds[0] else (options.second, options.first)
        )
        raise HotloopError(
            f"{capture} is a capture and {other} is not; give two captures or two commands"
        )
    else:
        result = _run(options)
        comparison = result.comparison
    experiments.show(options, result or comparison)
    return _exit_code(options, comparison, result)


def _run(options: argparse.Namespace) -> PairedResult:
    from hotloop.analyze.comparing.sequential import Rule
    from hotloop.experiment.command import short_names
    from hotloop.experiment.paired import Design, PairedRuns
    from hotloop.experiment.same_learning import SameLearning

    first, second = experiments.both_commands(options)
    commands = (
        replace(first, options=(*first.options, "--weights")),
        replace(second, options=(*second.options, "--weights")),
    )
    design = Design(
        Rule(options.pairs, options.until, options.margin, options.any_work),
        warm_up=options.warm_up,
        stop_after=experiments.stop_after(options),
        timeout_s=experiments.timeout(options),
    )
    names = experiments.names_of(options) or short_names(*commands)
    place = experiments.place(options)
    try:
        folder = experiments.make_folder(options.folder, "compare")
        runs = PairedRuns(commands, names, design, folder, place, experiments.notify)
        learning = SameLearning()
        runs.check = learning.see
        result = runs.go()
        result.comparison.notes += learning.notes()
        return result
    finally:
        place.close()


def _exit_code(
    options: argparse.Namespace, comparison: Comparison, result: PairedResult | None
) -> int:
    if result is not None and result.failure is not None:
        kept = f"kept {units.plural(comparison.pairs, 'finished pair')} in {result.folder}"
        print(f"hotloop: {result.failure}\nhotloop: {kept}", file=sys.stderr)
        return HotloopError.exit_code
    if result is not None and result.interrupted:
        return 130
    from hotloop.analyze.comparing.judgement import SLOWER

    whole = comparison.whole
    limit = options.fail_on_regression
    if limit is not None and whole.verdict == SLOWER and whole.inverse.estimate:
        return 1 if whole.inverse.estimate - 1.0 >= limit else 0
    return 0
