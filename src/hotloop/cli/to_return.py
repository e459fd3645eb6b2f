"""`--to-return X` of compare, sweep and investigate: which setting reaches a return sooner."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hotloop.analyze.comparing.defaults import SEEDS
from hotloop.cli import experiments
from hotloop.errors import HotloopError
from hotloop.experiment.command import Command, check_exists
from hotloop.experiment.to_return import ReturnDesign, ReturnRuns, parse_target
from hotloop.report.console.terminal import Style

if TYPE_CHECKING:
    from hotloop.analyze.comparing.soonest import Soonest
    from hotloop.experiment.here import Place
    from hotloop.experiment.plan import Plan

T = TypeVar("T")

#: How the result can be written.
FORMATS = ("text", "json")


def main(options: argparse.Namespace) -> int:
    """Run both commands of a comparison over the seeds and print the result."""
    from hotloop.experiment.command import short_names
    from hotloop.report.results.to_return import render

    check_format(options)
    commands = experiments.both_commands(options)
    names = experiments.names_of(options) or short_names(*commands)
    result = _run(options, commands, names, ReturnRuns.go)
    return _show(options, partial(render, result), result.interrupted)


def of_settings(
    options: argparse.Namespace, commands: tuple[Command, ...], names: tuple[str, ...]
) -> int:
    """Run all settings of a sweep over the seeds and print which is soonest."""
    check_format(options)
    return _show_soonest(options, _run(options, commands, names, ReturnRuns.soonest))


def of_plan(options: argparse.Namespace, plan: Plan, folder: Path, place: Place) -> int:
    """The same for the baseline and the changes of an investigation."""
    from hotloop.experiment.investigating import settings_of

    settings = settings_of(plan, folder)
    for command in settings.values():
        check_exists(command)
    target = parse_target(options.to_return or plan.to_return or "auto")
    seeds = options.seeds or plan.seeds or SEEDS
    design = ReturnDesign(target, seeds, plan.stop_after, plan.timeout_s)
    names, commands = tuple(settings), tuple(settings.values())
    runs = ReturnRuns(commands, names, design, folder, place, experiments.notify)
    result = runs.soonest()
    left_out = [each.name for each in plan.hypotheses if each.name not in settings]
    if left_out:
        result.notes.append(
            f"Not run: {', '.join(left_out)}. Skipping or slowing down a phase changes "
            "what is learned."
        )
    return _show_soonest(options, result)


def _show_soonest(options: argparse.Namespace, result: Soonest) -> int:
    from hotloop.report.results.soonest import render

    return _show(options, partial(render, result), result.interrupted)


def check_format(options: argparse.Namespace) -> None:
    """Fail before the runs if the result cannot be written in this format."""
    path = Path(options.output) if options.output else None
    form = experiments.format_of(path, options.formats) if path else options.format
    if form not in FORMATS or options.format not in FORMATS:
        raise HotloopError(f"results of --to-return can be written as {' or '.join(FORMATS)}")


def _show(
    options: argparse.Namespace, render: Callable[[str, Style], str], interrupted: bool
) -> int:
    experiments.put(options, render)
    return 130 if interrupted else 0


def _run(
    options: argparse.Namespace,
    commands: tuple[Command, ...],
    names: tuple[str, ...],
    go: Callable[[ReturnRuns], T],
) -> T:
    for command in commands:
        check_exists(command)
    design = ReturnDesign(
        parse_target(options.to_return),
        options.seeds or SEEDS,
        stop_after=experiments.stop_after(options),
        timeout_s=experiments.timeout(options),
    )
    place = experiments.place(options)
    try:
        folder = experiments.make_folder(options.folder, "to-return")
        return go(ReturnRuns(commands, names, design, folder, place, experiments.notify))
    finally:
        place.close()
