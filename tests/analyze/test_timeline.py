"""Start-up, loop and end of a run."""

from __future__ import annotations

import pytest
from made_captures import capture, three_parts

from hotloop.analyze.analysis import analyze
from hotloop.analyze.timeline import split_timeline


def test_start_up_loop_and_the_rest_are_told_apart() -> None:
    analysis = analyze(capture(three_parts()))
    run = analysis.run
    assert (run.wall_s, run.startup_s, run.loop_s, run.after_s) == (7, 2, 3, 2)
    assert [p.name for p in analysis.phases] == ["env.step"]
    assert [p.name for p in analysis.startup] == ["import"]
    assert [p.name for p in analysis.after] == ["evaluate"]
    assert analysis.phases[0].total_s == pytest.approx(2.7)
    assert analysis.coverage == pytest.approx(0.9)
    assert analysis.outside_s == pytest.approx(0.3)
    assert analysis.unexplained == pytest.approx(0.1)
    assert run.steps_per_s == pytest.approx(5)


def test_without_a_loop_the_whole_run_counts() -> None:
    timeline = split_timeline(three_parts()[:1])
    assert not timeline.found_loop
    assert timeline.loop_s == 2
