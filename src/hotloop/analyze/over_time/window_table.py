"""The windows as a table: one row for each phase, counter, gauge and return of each window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hotloop.analyze.timeline import offset_s, split_timeline
from hotloop.capture.reader import Capture, Shard
from hotloop.capture.window import Window
from hotloop.phases import NO_PHASE_LABEL, category_of, name_at

PHASE, COUNTER, GAUGE, RETURN = "phase", "counter", "gauge", "return"


@dataclass
class Row:
    """One thing in one window. Times are seconds on the main process's clock, as measured."""

    process: str
    pid: int
    window: int
    windows: int
    begin_s: float
    end_s: float
    part: str
    kind: str
    name: str
    category: str = ""
    calls: int | None = None
    self_s: float | None = None
    total_s: float | None = None
    min_s: float | None = None
    max_s: float | None = None
    value: float | None = None


def window_rows(capture: Capture) -> Iterator[Row]:
    """Every row of every process, in the order of time within each."""
    for shard in capture.shards:
        offset = offset_s(shard, capture.main)
        for part, windows in split_timeline(shard.windows).parts:
            for window in windows:
                yield from _rows(shard, window, part, offset)


def _rows(shard: Shard, window: Window, part: str, offset: float) -> Iterator[Row]:
    def row(kind: str, name: str) -> Row:
        return Row(
            shard.role,
            shard.header.pid,
            window.first,
            window.last - window.first + 1,
            window.begin_ns / 1e9 + offset,
            window.end_ns / 1e9 + offset,
            part,
            kind,
            name,
        )

    for path, delta in window.phases.items():
        phase = row(PHASE, path or NO_PHASE_LABEL)
        name = name_at(path)
        phase.category = (shard.notes.categories.get(name) or category_of(name)) if name else ""
        phase.calls = delta.calls
        phase.self_s, phase.total_s = delta.self_ns / 1e9, delta.elapsed_ns / 1e9
        phase.min_s, phase.max_s = delta.min_ns / 1e9, delta.max_ns / 1e9
        yield phase
    for kind, values in ((COUNTER, window.counters), (GAUGE, window.gauges)):
        for name, value in values.items():
            other = row(kind, name)
            other.value = value
            yield other
    for name, ended in window.episodes.items():
        returned = row(RETURN, name)
        returned.calls, returned.value = ended.episodes, ended.mean
        yield returned
