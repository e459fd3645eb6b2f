"""Measure how throughput scales with a setting, and which phase limits it.

  hotloop sweep --vary envs=32,64,128,256 --steps 20000 -- train.py --envs {envs}
  hotloop sweep --vary episodes=100,200,400 --expect linear -- train.py --episodes {episodes}
  hotloop sweep --vary envs=1,4,16 --to-return 195 -- train.py --envs {envs} --seed {seed}

Each round runs every setting once, in a different order. Reports steps per second, time per step
by phase, memory, scaling efficiency, the scaling exponent, and the knee beyond which larger values
gain little. --expect prints expected and actual scaling. With --to-return, runs every setting over
several seeds until its return reaches the target, and reports which one reaches it soonest and the
Pareto front of steps per second and return.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from hotloop.analyze.comparing.defaults import EXPECTATIONS, ROUNDS
from hotloop.cli import experiments
from hotloop.cli.numbers import above_zero, not_negative
from hotloop.cli.run import split_at_program
from hotloop.errors import HotloopError

if TYPE_CHECKING:
    from hotloop.analyze.comparing.experiments import Sweep


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "hotloop sweep --vary NAME=VALUES [options] -- script.py [arguments with {NAME}]"
    parser.add_argument(
        "--vary",
        metavar="NAME=VALUES",
        action="append",
        default=[],
        help="a setting and its values, such as envs=32,64,128; repeat for a grid",
    )
    parser.add_argument(
        "--expect",
        choices=sorted(EXPECTATIONS),
        help="print expected and actual: "
        + "; ".join(f"{name}: {meaning}" for name, meaning in EXPECTATIONS.items()),
    )
    parser.add_argument(
        "--rounds",
        type=above_zero,
        default=ROUNDS,
        metavar="N",
        help=f"runs of each setting (default {ROUNDS})",
    )
    parser.add_argument(
        "--warm-up",
        type=not_negative,
        default=1,
        metavar="N",
        help="warm-up runs of the first setting, not counted (default 1)",
    )
    experiments.add_return_arguments(parser)
    experiments.add_run_arguments(parser)
    experiments.add_output_arguments(parser)


def parse(parser: argparse.ArgumentParser, argv: list[str]) -> argparse.Namespace:
    """Options up to the program; the rest is the program's."""
    example = "hotloop sweep --vary envs=32,64 -- train.py --envs {envs}"
    options, words = split_at_program(parser, argv, example)
    options.program = words
    return options


def main(options: argparse.Namespace) -> int:
    from hotloop.experiment.command import check_exists
    from hotloop.experiment.sweeping import SweepDesign, SweepRuns, parse_variables, settings_of

    experiments.check_output(options)
    variables = parse_variables(options.vary)
    settings = [
        replace(setting, command=experiments.as_measured(setting.command, options))
        for setting in settings_of(options.program, variables)
    ]
    if options.to_return is not None:
        from hotloop.cli import to_return

        commands = tuple(each.command for each in settings)
        return to_return.of_settings(options, commands, tuple(each.name for each in settings))
    if options.seeds is not None:
        raise HotloopError("--seeds needs --to-return; to measure throughput, use --rounds")
    for setting in settings:
        check_exists(setting.command)
    design = SweepDesign(
        variables,
        options.rounds,
        options.warm_up,
        experiments.stop_after(options),
        experiments.timeout(options),
        options.expect,
    )
    place = experiments.place(options)
    try:
        folder = experiments.make_folder(options.folder, "sweep")
        runs = SweepRuns(settings, design, folder, place, experiments.notify)
        sweep = runs.go(shlex.join(options.program))
    finally:
        place.close()
    experiments.show(options, sweep)
    return _exit_code(sweep)


def _exit_code(sweep: Sweep) -> int:
    for failure in sweep.failures:
        print(f"hotloop: {failure}", file=sys.stderr)
    if sweep.failures:
        return HotloopError.exit_code
    return 130 if sweep.interrupted else 0
