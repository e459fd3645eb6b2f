"""Everything about one run in one JSON document, `hotloop.detailed/1`.

The report's document with more detail: bottlenecks ranked by score, all functions, all windows, and
the tree of phases and functions. For your own charts and computations.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from hotloop.analyze.model import Analysis, Phase
from hotloop.analyze.over_time import series, step_cost
from hotloop.analyze.over_time.history import RunHistory
from hotloop.analyze.processes.process_groups import groups
from hotloop.analyze.samples.flame import Box, flame
from hotloop.report.document import Report, history_of, report_document
from hotloop.report.view import DEFAULT_VIEW, View

SCHEMA = "hotloop.detailed/1"

#: The meaning of each mark.
RECOMMENDATIONS = {
    "CRITICAL": "takes more than 30% of the loop: start here",
    "SLOW": "takes more than 100 ms per call",
    "MEMORY": "adds more than 100 MB of memory",
    "GPU MEMORY": "uses more than 100 MB of GPU memory",
}


def render(report: Report, view: View = DEFAULT_VIEW) -> str:
    """The document, as text."""
    analysis = report.analysis
    document = report_document(report)
    document.update(
        schema=SCHEMA,
        bottlenecks=bottlenecks(analysis),
        functions=[asdict(function) for function in analysis.functions],
        course=_course(history_of(report), analysis),
        trees={
            label: _tree(root)
            for label, processes in groups(analysis).items()
            if (root := flame(analysis, processes)) is not None
        },
    )
    return json.dumps(document, indent=1, default=str) + "\n"


def bottlenecks(analysis: Analysis) -> list[dict[str, Any]]:
    """Phases by their weighted score, with their marks."""
    ordered = sorted(analysis.phases, key=lambda phase: -phase.score)
    return [_bottleneck(phase) for phase in ordered if phase.score > 0]


def _bottleneck(phase: Phase) -> dict[str, Any]:
    names = ("path", "name", "category", "process", "score", "share", "mean_s", "calls", "marks")
    return {
        **{name: getattr(phase, name) for name in names},
        "recommendations": [RECOMMENDATIONS[m] for m in phase.marks if m in RECOMMENDATIONS],
    }


def _course(history: RunHistory, analysis: Analysis) -> dict[str, Any]:
    parts = history.parts(analysis)
    return {
        "points": [_point(point) for point in history.every_point()],
        "per_step": [_point(point) for point in parts],
        "warm_up_s": step_cost.warm_up(parts),
        "events": [asdict(event) for event in history.events()],
    }


def _point(point: series.SeriesPoint) -> dict[str, Any]:
    names = ("begin_s", "end_s", "part", "own", "counters", "cpu_s", "memory_mb", "memory_peak_mb",
             "gpu_memory_mb", "gpu_busy_s", "steps_per_s", "cores")  # fmt: skip
    return {name: getattr(point, name) for name in names}


def _tree(box: Box) -> dict[str, Any]:
    plain = {name: value for name, value in vars(box).items() if name != "inside"}
    return {**plain, "inside": [_tree(inner) for inner in box.inside]}
