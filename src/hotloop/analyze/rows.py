"""The windows as a table: one row for each phase, counter and gauge of each window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hotloop.analyze.course import AFTER, LOOP, STARTUP, offset_s
from hotloop.analyze.flame import NO_PHASE
from hotloop.analyze.timeline import split_timeline
from hotloop.capture.reader import Capture, Shard
from hotloop.capture.window import Window
from hotloop.words import category_of, names_of

PHASE, COUNTER, GAUGE = "phase", "counter", "gauge"


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
        timeline = split_timeline(shard.windows)
        for part, windows in (
            (STARTUP, timeline.startup),
            (LOOP, timeline.loop),
            (AFTER, timeline.after),
        ):
            for window in windows:
                yield from _rows(shard, window, part, offset)


def _rows(shard: Shard, window: Window, part: str, offset: float) -> Iterator[Row]:
    pid = shard.header.get("pid")

    def row(kind: str, name: str) -> Row:
        return Row(
            shard.role,
            pid if type(pid) is int else 0,  # True is an int as well
            window.first,
            window.last - window.first + 1,
            window.begin_ns / 1e9 + offset,
            window.end_ns / 1e9 + offset,
            part,
            kind,
            name,
        )

    categories = shard.notes.get("categories")
    known = categories if isinstance(categories, dict) else {}
    for path, delta in window.phases.items():
        phase = row(PHASE, path or NO_PHASE)
        name = (names_of(path) or [""])[-1]
        phase.category = str(known.get(name) or category_of(name)) if name else ""
        phase.calls = delta.calls
        phase.self_s, phase.total_s = delta.self_ns / 1e9, delta.elapsed_ns / 1e9
        phase.min_s, phase.max_s = delta.min_ns / 1e9, delta.max_ns / 1e9
        yield phase
    for kind, values in ((COUNTER, window.counters), (GAUGE, window.gauges)):
        for name, value in values.items():
            other = row(kind, name)
            other.value = value
            yield other
