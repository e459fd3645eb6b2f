"""Explained, inferred and unexplained time, and the categories of a loop."""

from __future__ import annotations

from dataclasses import replace

import pytest
from analyses import make_analysis, phase, window

from hotloop.analyze.accounting import account, categories, outside_share, unidentified
from hotloop.capture.schema import GAP_NS

GAP = "between step and forward"


def test_the_three_shares_add_up_to_one() -> None:
    analysis = replace(
        make_analysis(
            phase("env.step", 4.0),
            phase("learn.loss", 3.0, how="inferred"),
            phase(GAP, 1.0, how="inferred"),
        ),
        unexplained=0.3,
    )
    shares = account(analysis)
    assert shares.unexplained == 0.3
    assert shares.inferred == pytest.approx(0.4)
    assert shares.explained + shares.inferred + shares.unexplained == pytest.approx(1.0)


def test_the_own_time_of_a_parent_is_never_inferred() -> None:
    shares = account(make_analysis(phase("collect", 6.0, how="inferred")))
    assert shares.inferred == 0.0


def test_counted_gaps_say_how_much_is_inferred_except_for_those_without_a_phase() -> None:
    counted = window(0, {"learn.loss": (0.9, 1)}, counters={GAP_NS: 3e9})
    analysis = make_analysis(phase("learn.loss", 5.0), phase(GAP, 1.0), windows=[counted])
    assert account(analysis).inferred == pytest.approx(0.2)


def test_inferred_time_never_exceeds_what_is_explained() -> None:
    analysis = replace(make_analysis(phase("learn.loss", 9.0, how="inferred")), unexplained=0.5)
    shares = account(analysis)
    assert (shares.explained, shares.inferred, shares.unexplained) == (0.0, 0.5, 0.5)


def test_a_run_without_a_loop_has_no_shares() -> None:
    analysis = make_analysis(phase("env.step", 1.0), loop_s=0.0)
    shares = account(analysis)
    assert (shares.explained, shares.inferred, shares.unexplained) == (0.0, 0.0, 0.0)
    assert outside_share(analysis) == 0.0
    assert categories(analysis) == {"Environment": 0.0}


def test_gaps_without_a_phase_are_listed_with_their_lines_the_largest_first() -> None:
    other = "between forward and step"
    analysis = make_analysis(
        phase(GAP, 1.0),
        phase(f"collect/{GAP}", 1.0),
        phase(other, 3.0),
        phase("env.step", 4.0),
        notes={"gap_lines": {GAP: ["train.py:3-9 main"]}},
    )
    found = unidentified(analysis)
    assert [(each.name, each.share) for each in found] == [(other, 0.3), (GAP, 0.2)]
    assert found[1].lines == ["train.py:3-9 main"]
    assert [each.name for each in unidentified(analysis, least_share=0.25)] == [other]


def test_categories_are_sums_of_own_times_of_the_training_thread() -> None:
    analysis = make_analysis(
        phase("env.step", 2.0),
        phase("env.reset", 1.0),
        phase("learn.backward", 4.0),
        phase("env.step", 9.0, process="worker 1"),
    )
    assert categories(analysis) == {"Model": 0.4, "Environment": 0.3}
