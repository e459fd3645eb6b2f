"""A trace for Perfetto and chrome://tracing: every call that `run --trace` kept, as a slice.

The Chrome trace event format: one process per process, one thread per track, times in microseconds
with nanoseconds after the decimal point. Memory and steps per second of the windows are counters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hotloop.analyze.over_time.history import RunHistory
from hotloop.analyze.over_time.tracks import ProcessTracks, Track
from hotloop.errors import HotloopError
from hotloop.phases import category_of, name_at
from hotloop.report.console.terminal import clean
from hotloop.report.document import Report, history_of
from hotloop.report.view import DEFAULT_VIEW, View

_Event = dict[str, Any]

#: Windows as counters: more than a trace viewer can draw.
_MOST_POINTS = 2000


def render(report: Report, view: View = DEFAULT_VIEW) -> str:
    """The file, as text."""
    history = history_of(report)
    processes = history.tracks()
    if not processes:
        raise HotloopError(
            f"{history.folder}: has no individual calls; record them with `hotloop run --trace`"
        )
    categories = history.categories
    events: list[_Event] = []
    for number, process in enumerate(processes):
        # Processes of several hosts may have the same pid, so they are renumbered.
        pid = number + 1
        events += _names(process, pid)
        for thread, track in enumerate(process.tracks):
            events += _slices(track, process, pid, thread + 1, categories)
    events += _counters(history)
    document = {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {
            "program": clean(" ".join(report.analysis.run.command)),
            "hotloop": str(report.analysis.run.header.version),
            "calls without room": sum(process.lost for process in processes),
        },
    }
    # Perfetto shows escapes as they are written, so names are written as they are.
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False) + "\n"


def _names(process: ProcessTracks, pid: int) -> Iterator[_Event]:
    title = f"{clean(process.name)} ({process.pid})"
    yield _meta("process_name", pid, 0, name=title)
    yield _meta("process_sort_index", pid, 0, sort_index=pid)
    for thread, track in enumerate(process.tracks):
        name = track.thread if track.number == 0 else f"{track.thread} ({track.number + 1})"
        yield _meta("thread_name", pid, thread + 1, name=clean(name))
        yield _meta("thread_sort_index", pid, thread + 1, sort_index=thread)


def _meta(kind: str, pid: int, tid: int, **arguments: Any) -> _Event:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "ts": 0, "args": arguments}


def _slices(
    track: Track, process: ProcessTracks, pid: int, tid: int, categories: dict[str, Any]
) -> Iterator[_Event]:
    for slice in track.slices:
        name = name_at(slice.path)
        yield {
            "ph": "X",
            "name": clean(name),
            "cat": clean(str(categories.get(name) or category_of(name))),
            "pid": pid,
            "tid": tid,
            "ts": _microseconds(slice.begin_ns + process.offset_ns),
            "dur": _microseconds(slice.end_ns - slice.begin_ns),
        }


def _counters(history: RunHistory) -> Iterator[_Event]:
    for point in history.points(most=_MOST_POINTS):
        at = _microseconds(round((point.begin_s + history.later_s) * 1e9))
        values = {"memory MB": point.memory_mb, "steps per second": point.steps_per_s}
        for name, value in values.items():
            if value is not None:
                yield {"ph": "C", "name": name, "pid": 1, "ts": at, "args": {name: value}}


def _microseconds(ns: int) -> float:
    return ns / 1000
