"""Prints the report when a run has ended, and the commands to type next."""

from __future__ import annotations

import sys
from pathlib import Path

from hotloop.diagnose.finding import CRITICAL, WARNING
from hotloop.errors import HotloopError
from hotloop.report.console.terminal import style_for, write
from hotloop.report.console.text import text_report
from hotloop.report.document import Refine, Report, report_of
from hotloop.report.view import View

#: Functions in the report at the end of a run; `hotloop report` lists more.
FEW_FUNCTIONS = 5


def show_end(
    folder: Path,
    typed: str,
    is_newest: bool,
    refine: Refine | None = None,
) -> None:
    """Print the report of the recording, and the commands to type next.

    `typed` is its folder as the user would type it; commands need no folder if it `is_newest`.
    `refine` is as in `report_of`.
    """
    try:
        report = report_of(folder, refine)
    except HotloopError as error:
        write(sys.stderr, f"hotloop: {error}")
        return
    run = report.analysis.run
    if run.failed and not run.env_steps and not run.gradient_steps:
        # The program's error is printed above; a table of imports would hide it.
        write(
            sys.stderr,
            f"hotloop: the program failed before its first training step; its capture is {typed}",
        )
        return
    style = style_for(sys.stderr)
    text = text_report(report, style, View(top=FEW_FUNCTIONS))
    next_steps = _next_steps(report, "" if is_newest else f" {typed}")
    write(sys.stderr, f"\n{text}\n{next_steps}\nRecorded in {style.link(typed, folder)}")


def _next_steps(report: Report, folder: str) -> str:
    steps = [(f"hotloop open{folder}", "this report as a page")]
    if any(each.severity in (CRITICAL, WARNING) for each in report.findings):
        steps.append((f"hotloop prove{folder}", "try the fixes and measure what they gain"))
    width = max(len(command) for command, _ in steps)
    lines = [f"{command:<{width}}   {what}" for command, what in steps]
    return "Next: " + "\n      ".join(lines)
