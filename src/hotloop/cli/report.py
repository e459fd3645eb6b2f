"""Show where the time of a recorded run went, or show the result of an experiment.

hotloop report                      the newest capture or experiment below runs/hotloop
hotloop report CAPTURE              as text
hotloop report CAPTURE --format json
hotloop report CAPTURE -o report.html    a page; also .md, .txt, .json, .png, .svg, …
hotloop report EXPERIMENT -o page.html   the folder of a compare, sweep or investigate
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from hotloop.cli.numbers import above_zero
from hotloop.cli.selection import add_capture_argument, selected
from hotloop.errors import HotloopError
from hotloop.report.console.terminal import Style, style_for
from hotloop.report.formats import FORMATS, format_named, format_of, known_endings
from hotloop.report.view import DEFAULT_VIEW, SORTS, View


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_capture_argument(parser)
    parser.add_argument(
        "--format",
        type=format_named,
        choices=[name for name, each in FORMATS.items() if each.text],
        default="text",
        help="print it in this format (default: text)",
    )
    parser.add_argument(
        "-o", "--output", help=f"write a file; its ending selects the format: {known_endings()}"
    )
    parser.add_argument("-f", "--force", action="store_true", help="overwrite that file")
    parser.add_argument(
        "--sort", choices=sorted(SORTS), default="total", help="order of phases (default: total)"
    )
    parser.add_argument(
        "--top",
        type=above_zero,
        default=DEFAULT_VIEW.top,
        metavar="N",
        help=f"number of functions to list (default {DEFAULT_VIEW.top})",
    )
    parser.add_argument("--depth", type=above_zero, metavar="N", help="depth of the phase tree")
    parser.add_argument(
        "--process", default="main", metavar="NAME", help="show one process by name, or all"
    )


def main(options: argparse.Namespace) -> int:
    folder = selected(options.capture)
    format = format_of(Path(options.output)) if options.output else options.format
    view = View(options.sort, options.top, options.depth, options.process)
    style = Style() if options.output else style_for(sys.stdout)
    from hotloop.report.output import put

    content = rendered(folder, format, view, style)
    put(content, options.output, options.force)
    return 0


def rendered(
    folder: Path, format: str, view: View = DEFAULT_VIEW, style: Style | None = None
) -> str | bytes:
    """The report of a capture, or the result of an experiment, in that format."""
    from hotloop.experiment.own_lines import with_patches
    from hotloop.experiment.stored import is_stored, load
    from hotloop.report.document import report_of
    from hotloop.report.output import render
    from hotloop.report.results import experiments

    if is_stored(folder):
        return experiments.render(load(folder), format, style or Style())
    report = report_of(folder, with_patches)
    analysis = report.analysis
    if view.process == analysis.notes.trains_in:
        view = replace(view, process="main")
    known = {process.name for process in analysis.processes} | {"all", "main"}
    if view.process not in known:
        raise HotloopError(
            f"--process {view.process}: no such process; choose one of {', '.join(sorted(known))}"
        )
    return render(format, report, view, style)
