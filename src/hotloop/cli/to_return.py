"""`hotloop compare A B --to-return X`: which of two settings reaches a return sooner."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hotloop.analyze.defaults import SEEDS
from hotloop.cli import experiments
from hotloop.errors import HotloopError
from hotloop.report.terminal import Style, style_for, write

if TYPE_CHECKING:
    from hotloop.analyze.time_to_return import TimeToReturn

#: How the result can be written.
FORMATS = ("text", "json")


def main(options: argparse.Namespace) -> int:
    """Run both commands over the seeds and print the result."""
    from hotloop.report.output import save
    from hotloop.report.to_return import render

    path = Path(options.output) if options.output else None
    form = experiments.format_of(path, options.formats) if path else options.format
    if form not in FORMATS or options.format not in FORMATS:
        raise HotloopError(f"--to-return is written as {' or '.join(FORMATS)}")
    result = _run(options, _target(options.to_return))
    if path is not None:
        save(path, render(result, form, Style()), options.force)
    write(sys.stdout, render(result, options.format, style_for(sys.stdout)))
    return 130 if result.interrupted else 0


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


def _run(options: argparse.Namespace, target: float | None) -> TimeToReturn:
    from hotloop.experiment.command import short_names
    from hotloop.experiment.to_return import ReturnDesign, ReturnRuns

    commands = experiments.both_commands(options)
    design = ReturnDesign(
        target,
        options.seeds or SEEDS,
        stop_after=experiments.stop_after(options),
        timeout_s=experiments.timeout(options),
    )
    names = experiments.names_of(options) or short_names(*commands)
    place = experiments.place(options)
    try:
        folder = experiments.make_folder(options.folder, "to-return")
        runs = ReturnRuns(commands, names, design, folder, place, experiments.notify)
        return runs.go()
    finally:
        place.close()
