"""Worker processes beside the main one."""

from __future__ import annotations

import pytest
from made_captures import S, analysis_of, capture, made_shard, three_parts

from hotloop.capture.window import PhaseDelta, Window
from hotloop.report.console.terminal import Style
from hotloop.report.console.text import text_report
from hotloop.report.document import make_report


def test_other_processes_are_beside_the_main_one() -> None:
    main = capture(three_parts()).main
    worker = made_shard("worker-7", {"role": "worker", "pid": 7}, {}, three_parts())
    analysis = analysis_of(main, worker)
    assert analysis.run.processes == 2
    assert {p.process for p in analysis.phases} == {"main", "worker"}
    assert [p.name for p in analysis.processes] == ["main", "worker"]
    # The worker's steps are the parent's steps: they are not counted twice.
    assert analysis.run.env_steps == 15


@pytest.mark.parametrize(("path", "counted"), [("learn.backward/comm", 40), ("learn", 119)])
def test_learners_that_reduce_gradients_make_each_step_together(path: str, counted: int) -> None:
    """Others that happen to have made as many steps have each made their own."""
    main = capture([Window(0, 0, 0, S)]).main
    phases = {path: PhaseDelta(40, S // 2, S // 2)}
    learners = [
        made_shard(
            f"w-{i}", {"pid": i}, {}, [Window(0, 0, 0, S, phases, {"gradient_steps": amount})]
        )
        for i, amount in enumerate((40, 40, 39))
    ]
    analysis = analysis_of(main, *learners)
    assert analysis.run.counters["gradient_steps"] == counted


def test_processes_of_several_hosts_are_shown_with_them() -> None:
    main = made_shard("main", {"role": "main", "host": "a"}, {}, three_parts())
    rank = made_shard("rank-1", {"role": "rank-1", "host": "b", "pid": 7}, {}, three_parts())
    analysis = analysis_of(main, rank)
    assert [process.host for process in analysis.processes] == ["a", "b"]
    text = text_report(make_report(analysis, []), Style(width=100))
    assert "a: main" in text
    assert "b: rank-1" in text
