"""Every figure of every window as one row."""

from __future__ import annotations

import pytest
from made_captures import S, capture, change_header, made_shard, second

from hotloop.analyze.over_time.window_table import COUNTER, GAUGE, PHASE, window_rows


def test_rows_hold_every_figure_of_every_window() -> None:
    run = capture([second(0, 0, False, data=0.4), second(1, env_step=0.6)], pid=7)
    worker = made_shard("w", {"role": "w", "origin_ns": 3 * S, "host": "a"}, {}, [second(0)])
    change_header(run.main, origin_ns=1 * S, host="a")
    run.shards.append(worker)
    rows = list(window_rows(run))
    steps = [row for row in rows if row.kind == COUNTER]
    assert [(row.process, row.name, row.value) for row in steps] == [
        ("main", "env_steps", 10),
        ("w", "env_steps", 10),
    ]
    assert steps[1].begin_s == pytest.approx(2)
    step = next(row for row in rows if row.kind == PHASE and row.name == "env.step")
    assert (step.part, step.category, step.calls, step.pid) == ("loop", "Environment", 1, 7)
    assert step.self_s == pytest.approx(0.6)
    assert sum(row.self_s or 0 for row in rows if row.process == "main") == pytest.approx(2)
    assert {row.name for row in rows if row.kind == GAUGE} >= {"resident", "resident_peak"}
