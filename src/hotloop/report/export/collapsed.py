"""Collapsed stacks, one per line, for flamegraph.pl, inferno and similar tools.

`process;[phase];function (file:line) microseconds`
"""

from __future__ import annotations

from hotloop.analyze.samples.functions import short_file
from hotloop.analyze.samples.weighted_stacks import WeightedStack, weighted_stacks
from hotloop.report.console.terminal import clean
from hotloop.report.document import Report
from hotloop.report.view import DEFAULT_VIEW, View

#: Characters that end a part or a line in some readers.
_SEPARATORS = str.maketrans({";": ",", "\u2028": " ", "\u2029": " "})


def render(report: Report, view: View = DEFAULT_VIEW) -> str:
    """The lines, as text."""
    totals: dict[str, float] = {}
    for process in report.analysis.processes:
        for stack in weighted_stacks(report.analysis, process.name):
            line = ";".join(_part(each) for each in (process.name, *_names(stack)))
            totals[line] = totals.get(line, 0.0) + stack.seconds
    return "".join(
        f"{line} {microseconds}\n"
        for line, seconds in sorted(totals.items())
        if (microseconds := round(seconds * 1e6)) > 0
    )


def _names(stack: WeightedStack) -> list[str]:
    phases = [f"[{name}]" for name in stack.phases]
    return phases + [f"{f.function} ({short_file(f.file)}:{f.first_line})" for f in stack.frames]


def _part(text: str) -> str:
    """A name in a line whose parts end with a semicolon and whose count follows the last space."""
    return clean(text).translate(_SEPARATORS)
