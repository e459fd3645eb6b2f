"""What rules read from notes, counters and gauges; empty where nothing was recorded."""

from __future__ import annotations

import pytest
from analyses import Make, frame, phase, window

from hotloop.capture.schema import LineCalls, SourceLine
from hotloop.diagnose.recorded import (
    at,
    called_at,
    counted,
    gauge_rise,
    lines_of,
)


def test_counters_and_gauges_of_the_loop(make: Make) -> None:
    windows = [
        window(n, {}, counters={"syncs": 2.0}, gauges={"compile_s": 10.0 * n}) for n in range(5)
    ]
    analysis = make(phase("learn", 1.0), windows=windows)
    assert counted(analysis, "syncs") == 10.0
    # Four differences are known; the first window's own part is assumed to be their mean.
    assert gauge_rise(analysis, "compile_s") == pytest.approx(50.0)


def test_what_was_not_recorded(make: Make) -> None:
    analysis = make(phase("learn", 1.0), windows=[window(0, {})])
    assert counted(analysis, "syncs") == 0.0
    assert gauge_rise(analysis, "compile_s") is None
    assert lines_of(analysis, "gc.collect") == []
    assert called_at(analysis, frame("f")) == called_at(analysis, None) == LineCalls()


def test_lines_that_the_program_calls_from(make: Make) -> None:
    notes = {
        "places": {"gc.collect": [["/home/me/train.py", 12, "main"]]},
        "lines": {"/home/me/train.py": {"10": [["append"], 8]}},
    }
    analysis = make(phase("learn", 1.0), notes=notes)
    lines = lines_of(analysis, "gc.collect")
    assert lines == [SourceLine("/home/me/train.py", 12, "main")]
    assert (at(lines), at([])) == (" (train.py:12)", "")
    assert called_at(analysis, frame("main", line=10)) == LineCalls(frozenset({"append"}), 8)
