"""Everything about one run in one JSON document, `hotloop.detailed/1`.

The report's document with more inside: bottlenecks ranked by score, all functions, the windows as
they went, and the tree of phases and functions. For those who want to draw or reckon themselves.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from hotloop.analyze import course
from hotloop.analyze.flame import Box, flame, groups
from hotloop.analyze.model import Analysis, Phase
from hotloop.capture.reader import Capture
from hotloop.report.document import report_document
from hotloop.report.output import Material, need_capture

SCHEMA = "hotloop.detailed/1"

#: What each mark says, in the words of those who look for it.
RECOMMENDATIONS = {
    "CRITICAL": "takes more than 30% of the loop: look here first",
    "SLOW": "takes more than 100 ms a call",
    "MEMORY": "adds more than 100 MB of memory",
    "GPU MEMORY": "uses more than 100 MB of GPU memory",
}


def render(material: Material) -> str:
    """The document, as text."""
    analysis = material.analysis
    document = report_document(analysis, material.findings)
    document.update(
        schema=SCHEMA,
        bottlenecks=bottlenecks(analysis),
        functions=[asdict(function) for function in analysis.functions],
        course=_course(need_capture(material), analysis),
        trees={
            label: _tree(root)
            for label, processes in groups(analysis).items()
            if (root := flame(analysis, processes)) is not None
        },
    )
    return json.dumps(document, indent=1, default=str) + "\n"


def bottlenecks(analysis: Analysis) -> list[dict[str, Any]]:
    """Phases by their weighted score, with what stands out about each."""
    ordered = sorted(analysis.phases, key=lambda phase: -phase.score)
    return [_bottleneck(phase) for phase in ordered if phase.score > 0]


def _bottleneck(phase: Phase) -> dict[str, Any]:
    names = ("path", "name", "category", "process", "score", "share", "mean_s", "calls", "marks")
    return {
        **{name: getattr(phase, name) for name in names},
        "recommendations": [RECOMMENDATIONS[m] for m in phase.marks if m in RECOMMENDATIONS],
    }


def _course(capture: Capture, analysis: Analysis) -> dict[str, Any]:
    windows = len(capture.main.windows)
    run = course.points(capture.main, course.cost_of(analysis), most=max(windows, 1))
    parts = course.per_step(run)
    return {
        "points": [_point(point) for point in run],
        "per_step": [_point(point) for point in parts],
        "warm_up_s": course.warm_up(parts),
        "events": [asdict(event) for event in course.events(capture.main.windows)],
    }


def _point(point: course.Point) -> dict[str, Any]:
    return {**asdict(point), "steps_per_s": point.steps_per_s, "cores": point.cores}


def _tree(box: Box) -> dict[str, Any]:
    plain = {name: value for name, value in vars(box).items() if name != "inside"}
    return {**plain, "inside": [_tree(inner) for inner in box.inside]}
