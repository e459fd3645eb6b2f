"""Programs with telemetry, and what their captures hold."""

from __future__ import annotations

from typing import Any

from profiling import Run

from hotloop.analyze.processes.training import read_capture


def line_of(source: str, words: str) -> int:
    return next(i for i, line in enumerate(source.splitlines(), 1) if words in line)


def notes_of(run: Run) -> dict[str, Any]:
    assert run.capture is not None
    return read_capture(run.capture).main.notes.raw
