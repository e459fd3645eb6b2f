"""The figures of a profiler that a test makes itself."""

from __future__ import annotations

from typing import Any

from hotloop import Profiler


def phases(profiler: Profiler) -> dict[str, dict[str, Any]]:
    """Path -> row of the report."""
    return {phase["path"]: phase for phase in profiler.report()["phases"]}
