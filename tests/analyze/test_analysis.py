"""From windows to figures: loops, corrections, functions, scores."""

from __future__ import annotations

import pytest
from made_captures import capture, delta, one_window

from hotloop.analyze.analysis import analyze


def test_an_empty_capture_is_an_empty_analysis() -> None:
    analysis = analyze(capture([]))
    assert (analysis.run.wall_s, analysis.phases, analysis.coverage) == (0, [], 0)


def test_own_cost_is_taken_out_of_every_figure() -> None:
    cost = {"cost": {"inside_ns": 100.0, "outside_ns": 400.0}}
    calls = 1_000_000
    analysis = one_window(
        {
            "learn": delta(1, 4.0, 9.0, 0.0, 10),
            "learn/inner": delta(calls, 5.0, 5.0),
            "": delta(0, 1.0, 0),
        },
        header=cost,
    )
    learn, inner = analysis.phase("learn"), analysis.phase("learn/inner")
    assert learn is not None
    assert inner is not None
    assert inner.self_s == pytest.approx(5.0 - 0.1)
    assert learn.self_s == pytest.approx(4.0 - 0.4, abs=1e-6)
    assert learn.total_s == pytest.approx(9.0 - 0.5, abs=1e-6)
    assert analysis.run.loop_s == pytest.approx(10 - 0.5, abs=1e-5)
    assert analysis.overhead.share == pytest.approx(0.05, rel=1e-3)
    assert analysis.overhead.corrected


def test_an_absurd_cost_does_not_erase_the_figures() -> None:
    for cost in ({"inside_ns": 1e18, "outside_ns": 0}, {"inside_ns": "x"}, 5):
        analysis = one_window({"a": delta(1, 5.0, 5.0)}, header={"cost": cost})
        assert analysis.phases[0].total_s == pytest.approx(5.0, abs=0.01)


def test_unexplained_is_parents_and_what_is_in_no_phase() -> None:
    analysis = one_window(
        {
            "collect": delta(1, 2.0, 6.0, 0, 10),
            "collect/env.step": delta(1, 4.0, 4.0),
            "learn": delta(1, 1.0, 3.0),
            "learn/learn.backward": delta(1, 2.0, 2.0),
            "": delta(0, 1.0, 0),
        }
    )
    assert analysis.coverage == pytest.approx(0.9)
    assert analysis.unexplained == pytest.approx(0.4)


def test_an_update_that_nothing_sees_into_is_explained() -> None:
    """Values of a table, say: there is no phase inside that could be named."""
    analysis = one_window({"learn": delta(9, 3.0, 3.0, 0, 10), "": delta(0, 7.0, 0)})
    assert analysis.unexplained == pytest.approx(0.7)
