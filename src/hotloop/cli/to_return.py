"""`--to-return X` of compare and sweep: which setting reaches a return sooner."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from hotloop.analyze.defaults import SEEDS
from hotloop.cli import experiments
from hotloop.errors import HotloopError
from hotloop.experiment.command import Command, check_exists
from hotloop.experiment.to_return import ReturnDesign, ReturnRuns
from hotloop.report.terminal import Style, style_for, write

T = TypeVar("T")

#: How the result can be written.
FORMATS = ("text", "json")


def main(options: argparse.Namespace) -> int:
    """Run both commands of a comparison over the seeds and print the result."""
    from hotloop.experiment.command import short_names
    from hotloop.report.to_return import render

    _check_format(options)
    commands = experiments.both_commands(options)
    names = experiments.names_of(options) or short_names(*commands)
    result = _run(options, commands, names, ReturnRuns.go)
    return _show(options, partial(render, result), result.interrupted)


def of_settings(
    options: argparse.Namespace, commands: tuple[Command, ...], names: tuple[str, ...]
) -> int:
    """Run all settings of a sweep over the seeds and print which is soonest."""
    from hotloop.report.soonest import render

    _check_format(options)
    result = _run(options, commands, names, ReturnRuns.soonest)
    return _show(options, partial(render, result), result.interrupted)


def _check_format(options: argparse.Namespace) -> None:
    path = Path(options.output) if options.output else None
    form = experiments.format_of(path, options.formats) if path else options.format
    if form not in FORMATS or options.format not in FORMATS:
        raise HotloopError(f"--to-return is written as {' or '.join(FORMATS)}")


def _show(
    options: argparse.Namespace, render: Callable[[str, Style], str], interrupted: bool
) -> int:
    from hotloop.report.output import save

    if options.output:
        path = Path(options.output)
        text = render(experiments.format_of(path, options.formats), Style())
        save(path, text, options.force)
    write(sys.stdout, render(options.format, style_for(sys.stdout)))
    return 130 if interrupted else 0


def _target(written: str) -> float | None:
    if written == "auto":
        return None
    try:
        target = float(written)
    except ValueError:
        target = math.nan
    if not math.isfinite(target):
        raise HotloopError(f"--to-return {written}: a return, such as 195, or auto")
    return target


def _run(
    options: argparse.Namespace,
    commands: tuple[Command, ...],
    names: tuple[str, ...],
    go: Callable[[ReturnRuns], T],
) -> T:
    for command in commands:
        check_exists(command)
    design = ReturnDesign(
        _target(options.to_return),
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
