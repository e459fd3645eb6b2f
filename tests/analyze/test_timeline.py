"""Start-up, loop and end of a run."""

from __future__ import annotations

import pytest
from made_captures import capture, three_parts

from hotloop.analyze.analysis import analyze
from hotloop.analyze.timeline import split_timeline
from hotloop.capture.window import PhaseDelta, Window


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


SECOND = 1_000_000_000


def learning(before: int, in_loop: int) -> list[Window]:
    """Imports and a first round of network calls; then ten gradient steps among others."""
    imports = PhaseDelta(1, SECOND, SECOND, first_ns=1)
    plays = PhaseDelta(before, SECOND, SECOND, first_ns=SECOND)
    learns = PhaseDelta(10, SECOND, SECOND, first_ns=2 * SECOND)
    again = PhaseDelta(in_loop, SECOND, SECOND, first_ns=2 * SECOND + 1)
    first = Window(0, 0, 0, 2 * SECOND, {"import": imports, "inference": plays})
    first.counters = {"inference_rows": before}
    second = Window(
        1, 1, 2 * SECOND, 4 * SECOND, {"learn.backward": learns, "inference": again}, {}
    )
    second.loop_last_ns = 4 * SECOND
    return [first, second]


def test_a_loop_that_plays_first_begins_with_its_first_game() -> None:
    timeline = split_timeline(learning(before=100, in_loop=100))
    assert timeline.loop_s == 3
    assert [set(window.phases) for window in timeline.startup] == [{"import"}]
    assert timeline.loop[0].counters == {"inference_rows": 100}


@pytest.mark.parametrize(("before", "in_loop"), [(1, 100), (100, 10), (100, 0)])
def test_calls_that_do_not_recur_are_before_the_loop(before: int, in_loop: int) -> None:
    timeline = split_timeline(learning(before, in_loop))
    assert timeline.loop_s == 2
