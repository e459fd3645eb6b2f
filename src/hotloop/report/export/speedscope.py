"""For speedscope.app: one sampled profile per process, phases outermost, functions inside."""

from __future__ import annotations

import json
from typing import Any

from hotloop.analyze.samples.weighted_stacks import WeightedStack, weighted_stacks
from hotloop.report.console.terminal import clean
from hotloop.report.document import Report
from hotloop.report.view import DEFAULT_VIEW, View

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


class _Frames:
    """The frames of all profiles, each once."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._known: dict[tuple[str, str, int], int] = {}

    def index(self, name: str, file: str = "", line: int = 0) -> int:
        key = (name, file, line)
        if key not in self._known:
            self._known[key] = len(self.rows)
            row: dict[str, Any] = {"name": clean(name)}
            if file:
                row.update(file=clean(file), line=line)
            self.rows.append(row)
        return self._known[key]

    def stack(self, stack: WeightedStack) -> list[int]:
        phases = [self.index(f"[{name}]") for name in stack.phases]
        return phases + [self.index(f.function, f.file, f.first_line) for f in stack.frames]


def render(report: Report, view: View = DEFAULT_VIEW) -> str:
    """The file, as text."""
    analysis = report.analysis
    frames = _Frames()
    profiles = []
    for process in analysis.processes:
        stacks = sorted(weighted_stacks(analysis, process.name), key=lambda stack: stack.phases)
        if not stacks:
            continue
        weights = [stack.seconds for stack in stacks]
        profiles.append(
            {
                "type": "sampled",
                "name": f"{clean(process.name)} ({process.pid})",
                "unit": "seconds",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": [frames.stack(stack) for stack in stacks],
                "weights": weights,
            }
        )
    document = {
        "$schema": _SCHEMA,
        "name": clean(analysis.name),
        "exporter": f"hotloop@{analysis.run.header.version}",
        "activeProfileIndex": 0,
        "shared": {"frames": frames.rows},
        "profiles": profiles,
    }
    return json.dumps(document, separators=(",", ":")) + "\n"
