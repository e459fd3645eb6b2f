"""A process of the run other than the main one, for every renderer: `--process`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from hotloop.analyze.model import Analysis, of_main_thread
from hotloop.diagnose.verdict import starvation_of
from hotloop.report.document import MOST_FUNCTIONS, Report, report_document
from hotloop.report.view import View


def is_selected(view: View) -> bool:
    """Whether a view is of one such process."""
    return view.process not in ("all", "main")


def headline(analysis: Analysis, process: str) -> str:
    """Which process it is, and the phase that takes most of its time."""
    own = of_main_thread(analysis.phases, process)
    largest = max(own, key=lambda phase: phase.self_s, default=None)
    most = f": most of its time in phases is `{largest.name}`" if largest is not None else ""
    return f"{process}, a process of the run{most}."


def document(report: Report, view: View) -> dict[str, Any]:
    """The report as plain data; phases, functions, bounds and verdict are those of the process."""
    whole = report_document(report)
    if not is_selected(view):
        return whole
    analysis, process = report.analysis, view.process
    bound = analysis.process_bounds.get(process)
    functions = [f for f in analysis.functions if f.process == process]
    said = headline(analysis, process)
    starved = starvation_of(analysis, process)
    return {
        **whole,
        "process": process,
        "phases": [row for row in whole["phases"] if row["process"] == process],
        "functions": [asdict(f) for f in functions[:MOST_FUNCTIONS]],
        "thread_functions": [],
        "bounds": {"whole": asdict(bound), "phases": {}} if bound is not None else None,
        "verdict": {
            **whole["verdict"],
            "sentence": " ".join(filter(None, [starved, said])),
            "headline": said,
            "starvation": starved,
            "details": [],
        },
    }
