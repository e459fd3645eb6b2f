"""Claims beside what was measured."""

from __future__ import annotations

import math

import pytest

from hotloop.analyze.comparing.hypothesis import (
    ABOUT,
    CONFIRMED,
    REFUTED,
    UNKNOWN,
    Expected,
    goal_met,
    is_settled,
    judge_gain,
    judge_slope,
    parse_gain,
    parse_slope,
    priority,
    slope,
)
from hotloop.analyze.comparing.judgement import FASTER, SAME, SLOWER, Judgement
from hotloop.analyze.comparing.judgement import UNKNOWN as NOT_CLEAR

pytest.importorskip("scipy")


def measured(verdict: str, estimate: float, low: float, high: float) -> Judgement:
    return Judgement(verdict, estimate=estimate, low=low, high=high)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("2-3x", 2, 3),
        ("2x to 3x", 2, 3),
        ("10 - 15x", 10, 15),
        ("<1.1x", 1, 1.1),
        ("at most 1.05x", 1, 1.05),
        (">5x", 5, math.inf),
        ("2x", 2 / ABOUT, 2 * ABOUT),
        ("1.5", 1.5 / ABOUT, 1.5 * ABOUT),
    ],
)
def test_gains_as_people_write_them(text: str, low: float, high: float) -> None:
    assert parse_gain(text) == Expected(low, high)


@pytest.mark.parametrize("text", ["", "fast", "3-2x", "x", "-2x", "2x or 3x"])
def test_what_is_no_gain(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_gain(text)


def test_slopes_as_people_write_them() -> None:
    assert parse_slope("0.5 to 1") == Expected(0.5, 1)
    assert parse_slope("critical").low > 0.5 > parse_slope("hidden").high
    with pytest.raises(ValueError, match="fast"):
        parse_slope("fast")


@pytest.mark.parametrize(
    ("judgement", "verdict", "why"),
    [
        (measured(FASTER, 2.5, 2.3, 2.7), CONFIRMED, ""),
        (measured(FASTER, 1.8, 1.5, 2.1), CONFIRMED, ""),  # within the noise of what was expected
        (measured(FASTER, 5.0, 4.5, 5.5), CONFIRMED, "and more than expected"),
        (measured(FASTER, 1.3, 1.2, 1.4), REFUTED, "it helps, but less than expected"),
        (measured(SAME, 1.0, 0.98, 1.02), REFUTED, "it makes no difference"),
        (measured(SLOWER, 0.8, 0.7, 0.9), REFUTED, "it is slower"),
        (measured(NOT_CLEAR, 1.1, 0.9, 1.4), REFUTED, "it helps less than expected, if at all"),
        (
            measured(NOT_CLEAR, 1.5, 0.9, 2.4),
            UNKNOWN,
            "the expected gain and none at all are both possible",
        ),
        (Judgement(NOT_CLEAR, estimate=2.0), UNKNOWN, "too few pairs"),
    ],
)
def test_a_gain_of_two_to_three(judgement: Judgement, verdict: str, why: str) -> None:
    finding = judge_gain(Expected(2, 3), judgement, 0.05)
    assert (finding.verdict, finding.why) == (verdict, why)


def test_a_claim_that_something_matters_little() -> None:
    little = Expected(1.0, 1.1)
    assert judge_gain(little, measured(SAME, 1.0, 0.98, 1.03), 0.05).verdict == CONFIRMED
    assert judge_gain(little, measured(FASTER, 1.06, 1.02, 1.09), 0.05).verdict == CONFIRMED
    assert judge_gain(little, measured(FASTER, 1.5, 1.4, 1.6), 0.05).verdict == REFUTED
    assert judge_gain(little, measured(NOT_CLEAR, 1.1, 0.9, 1.3), 0.05).verdict == UNKNOWN


def test_a_claim_is_settled_when_more_pairs_would_not_change_it() -> None:
    assert is_settled(Expected(2, 3), measured(FASTER, 2.5, 2.0, 3.0), 0.05)
    assert is_settled(Expected(2, 3), measured(NOT_CLEAR, 1.1, 0.9, 1.4), 0.05)
    assert not is_settled(Expected(2, 3), measured(NOT_CLEAR, 1.5, 0.9, 2.4), 0.05)


def test_the_slope_of_time_over_delay() -> None:
    assert slope([0.0, 0.001, 0.002], [0.010, 0.011, 0.012]) == pytest.approx(1.0)
    assert slope([0.0, 0.001, 0.002], [0.010, 0.010, 0.010]) == pytest.approx(0.0)
    assert math.isnan(slope([0.0, 0.0], [0.010, 0.011]))


def test_critical_and_hidden_phases() -> None:
    critical, hidden = parse_slope("critical"), parse_slope("hidden")
    rounds = [0.98, 1.02, 1.0, 0.99, 1.01, 1.0]
    assert judge_slope(critical, rounds).verdict == CONFIRMED
    assert judge_slope(hidden, rounds).verdict == REFUTED
    assert judge_slope(hidden, [x - 1 for x in rounds]).verdict == CONFIRMED
    assert judge_slope(critical, [0.2, 2.0, 1.0, -1.0, 3.0, 0.5]).verdict == UNKNOWN
    assert judge_slope(critical, [1.0]).verdict == UNKNOWN


def test_goals() -> None:
    whole = measured(FASTER, 6.0, 5.5, 6.5)
    assert goal_met(5.0, whole) == "met"
    assert goal_met(10.0, whole) == "not met"
    assert goal_met(6.0, whole) == "cannot tell"
    assert goal_met(2.0, None) == "not met"


def test_the_likeliest_and_cheapest_come_first() -> None:
    likely = priority(Expected(2, 3), "high")
    assert likely > priority(Expected(2, 3), "low")
    assert priority(Expected(10, 15), "high") > likely  # its runs are shorter
    assert priority(Expected(0.75, 1.25), "high", runs=4, is_slope=True) < likely
