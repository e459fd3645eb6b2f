"""Figures of a profiler without a capture: `get_profiler().summary()` and `.report()`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hotloop.analyze.analysis import analyze
from hotloop.analyze.stretches.resting import whole
from hotloop.capture.reader import Capture, Shard
from hotloop.capture.schema import Header, Notes
from hotloop.diagnose import diagnose
from hotloop.report.console.phase_table import summary_table
from hotloop.report.document import make_report, report_document
from hotloop.run.header import process_header

if TYPE_CHECKING:
    from hotloop.measure.profiler import Profiler


def summary(profiler: Profiler) -> str:
    """A table to print."""
    return summary_table(analyze(_capture(profiler)))


def document(profiler: Profiler) -> dict[str, Any]:
    """What `hotloop report --format json` would print."""
    analysis = analyze(_capture(profiler))
    return report_document(make_report(analysis, diagnose(analysis)))


def _capture(profiler: Profiler) -> Capture:
    profiler.close_window()
    shard = Shard("main", Header(process_header(profiler, role="main")), Notes(profiler.notes()))
    shard.windows = [profiler.total]
    shard.stacks = {row.id: row for row in profiler.stacks}
    return Capture(Path("."), [whole(shard)])
