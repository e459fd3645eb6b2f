"""See how speed changes as a setting grows, and which phase is to blame.

  hotloop sweep --vary envs=32,64,128,256 --steps 20000 -- train.py --envs {envs}
  hotloop sweep --vary episodes=100,200,400 --expect linear -- train.py --episodes {episodes}

Every setting is run once a round, in an order that changes from round to round. The result: steps a
second, time per step by phase, memory, scaling efficiency, the exponent with which time grows, and
the knee after which more brings little. --expect prints expected against actual.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from dataclasses import replace

from hotloop.analyze.scaling import EXPECTATIONS
from hotloop.cli import experiments
from hotloop.experiment.command import check_exists
from hotloop.experiment.sweeping import (
    ROUNDS,
    Sweep,
    SweepDesign,
    SweepRuns,
    parse_variables,
    settings_of,
)
from hotloop.report.sweeping import sweep_document, sweep_text
from hotloop.report.terminal import Style

HELP = "see how speed changes as a setting grows"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "hotloop sweep --vary NAME=VALUES [options] -- script.py [arguments with {NAME}]"
    parser.add_argument(
        "--vary",
        metavar="NAME=VALUES",
        action="append",
        default=[],
        help="a name and its values, such as envs=32,64,128; again for a grid",
    )
    parser.add_argument(
        "--expect",
        choices=sorted(EXPECTATIONS),
        help="print expected against actual: "
        + "; ".join(f"{name}: {meaning}" for name, meaning in EXPECTATIONS.items()),
    )
    parser.add_argument(
        "--rounds",
        type=experiments.above_zero,
        default=ROUNDS,
        metavar="N",
        help=f"how often each setting is run (default {ROUNDS})",
    )
    parser.add_argument(
        "--warm-up",
        type=experiments.not_negative,
        default=1,
        metavar="N",
        help="runs of the first setting that are made first and not counted (default 1)",
    )
    experiments.add_run_arguments(parser)
    experiments.add_output_arguments(parser)


def parse(parser: argparse.ArgumentParser, argv: list[str]) -> argparse.Namespace:
    """Options up to the program; the rest is the program's."""
    return experiments.parse_up_to_program(
        parser, argv, "hotloop sweep --vary envs=32,64 -- train.py --envs {envs}"
    )


def main(options: argparse.Namespace) -> int:
    experiments.check_output(options)
    variables = parse_variables(options.vary)
    settings = [
        replace(setting, command=experiments.as_measured(setting.command, options))
        for setting in settings_of(options.program, variables)
    ]
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
        runs = SweepRuns(settings, design, folder, place, experiments.say)
        sweep = runs.go(shlex.join(options.program))
    finally:
        place.close()
    experiments.show(options, lambda form, style: _rendered(form, style, sweep))
    return _exit_code(sweep)


def _rendered(form: str, style: Style, sweep: Sweep) -> str | bytes:
    if form == "html":
        from hotloop.report.sweep_page import render_sweep

        return render_sweep(sweep)
    if form in experiments.PICTURES:
        from hotloop.report.experiment_pictures import sweep_picture

        return sweep_picture(sweep, form)
    if form == "json":
        return json.dumps(sweep_document(sweep), indent=1) + "\n"
    return sweep_text(sweep, style)


def _exit_code(sweep: Sweep) -> int:
    for failure in sweep.failures:
        print(f"hotloop: {failure}", file=sys.stderr)
    if sweep.failures:
        return sweep.failures[0].exit_code
    return 130 if sweep.interrupted else 0
