"""The run's table: the loop across processes, on a terminal and in Markdown."""

from __future__ import annotations

from hotloop import units
from hotloop.analyze.model import Analysis, RunRow
from hotloop.analyze.samples.functions import short_file
from hotloop.report.console.terminal import Style, clean, fit

#: Rows below this share of the loop are left out; a loop that waits for less has no table.
_SMALLEST_SHARE = 0.005
_SMALLEST_WAIT = 0.02

TITLE = "The loop across processes: waiting replaced by the work waited for"


def shown_rows(analysis: Analysis) -> list[RunRow]:
    """The rows to show; none for a loop that rarely waits for other processes."""
    rows = analysis.run_table
    if not any(row.process != "main" and row.share >= _SMALLEST_WAIT for row in rows):
        return []
    return [row for row in rows if row.share >= _SMALLEST_SHARE]


def who(analysis: Analysis, row: RunRow) -> str:
    """The processes of a row."""
    name = analysis.name_of(row.process)
    return f"{name} x{row.processes}" if row.processes > 1 else name


def line_of(row: RunRow) -> str:
    """The line with most of a row's time, from samples."""
    return f"{short_file(row.file)}:{row.line}" if row.file else ""


def run_table_text(analysis: Analysis, style: Style) -> str:
    """The table for a terminal; empty if the report has none."""
    rows = shown_rows(analysis)
    if not rows:
        return ""
    lines = [style.paint(TITLE, "bold")]
    for row in rows:
        cells = f"  {units.percent(row.share):>6} {units.seconds(row.seconds):>11}  "
        cells += f"{fit(clean(row.label), 25)} {fit(clean(who(analysis, row)), 24)} "
        lines.append((cells + fit(clean(line_of(row)), style.width - len(cells))).rstrip())
    return "\n".join(lines)
