"""Gains in words."""

from __future__ import annotations

from typing import Any

import pytest
from findings_made import found

from hotloop.capture.proofs import (
    CEILING,
    CONFIRMED,
    FAILED,
    IS_SLOWER,
    NO_DIFFERENCE,
    NOT_TRIED,
    REFUTED,
    TriedFix,
)
from hotloop.diagnose.finding import HEALTHY, WARNING, Finding, Gain
from hotloop.report.words.gains import measured, promised, proven, times
from hotloop.units import factor


def finding(low: float, high: float, severity: str = WARNING, **more: Any) -> Finding:
    return found("logging", low, high, severity, title="Logging takes long", fix="log less", **more)


def tried(verdict: str, *gain: float, **more: Any) -> TriedFix:
    known = dict(zip(("gain", "low", "high"), gain, strict=False))
    return TriedFix("logging", "log=100", verdict, **known, pairs=6, how="log rarely", **more)


@pytest.mark.parametrize(
    ("value", "text"), [(1.004, "1.00"), (1.07, "1.07"), (2.51, "2.5"), (14.4, "14")]
)
def test_a_factor_has_the_digits_that_matter(value: float, text: str) -> None:
    assert factor(value) == text


def test_a_range_whose_ends_read_the_same_is_one_number() -> None:
    assert times(Gain(1.071, 1.073)) == "1.07 times faster"
    assert times(Gain(1.07, 1.08)) == "1.07 to 1.08 times faster"


def test_a_prediction_names_its_ceiling_where_that_is_far_higher() -> None:
    assert promised(finding(1.2, 1.5, ceiling=1.8)) == (
        "1.20 to 1.50 times faster, 1.80 if this cost were zero"
    )
    assert promised(finding(1.2, 1.5, ceiling=1.6)) == "1.20 to 1.50 times faster"
    assert promised(finding(1.2, 1.5)) == "1.20 to 1.50 times faster"


def test_nothing_is_promised_for_what_is_healthy_or_too_small() -> None:
    assert promised(finding(1.2, 1.5, HEALTHY)) == ""
    assert promised(finding(1.0, 1.001)) == ""
    whole = finding(1.0, 1.001, run_gain=Gain(1.1, 1.3))
    assert promised(whole) == "the whole run 1.10 to 1.30 times faster"


def test_the_gain_shown_is_the_one_that_severity_follows() -> None:
    """Data that is loaded before the loop: 1% of the loop, half of the run."""
    loading = finding(1.01, 1.02, run_gain=Gain(1.6, 2.2))
    assert promised(loading) == "the whole run 1.60 to 2.2 times faster"
    assert loading.worth > 0.4
    assert promised(finding(1.2, 1.5, run_gain=Gain(1.1, 1.2))) == "1.20 to 1.50 times faster"


def test_a_measured_gain_comes_before_the_predicted_one() -> None:
    made = finding(1.2, 1.5, measured_gain=1.97, proof=tried(CONFIRMED, 1.97, 1.91, 2.04))
    assert promised(made) == (
        "measured: 1.97 times faster (1.91 to 2.04); predicted: 1.20 to 1.50 times faster"
    )


@pytest.mark.parametrize(
    ("fix", "text"),
    [
        (tried(REFUTED, 1.0, 0.98, 1.02, why=NO_DIFFERENCE), "no difference (0.98 to 1.02)"),
        (tried(REFUTED, 0.5, 0.4, 0.8, why=IS_SLOWER), "2.00 times slower (1.25 to 2.50)"),
        (tried(CEILING, 1.1, 0.9, 1.3), "1.10 times as fast (0.90 to 1.30)"),
        (tried(NOT_TRIED), ""),
    ],
)
def test_a_measured_gain_says_in_which_direction_it_goes(fix: TriedFix, text: str) -> None:
    assert measured(fix) == text


def test_what_prove_found_is_a_sentence() -> None:
    confirmed = tried(CONFIRMED, 2.0, 1.8, 2.2, weights="same weights")
    assert proven(finding(1.2, 1.5)) == ""
    assert proven(finding(1.2, 1.5, proof=confirmed)) == (
        "Confirmed by 6 pairs of runs with log=100: log rarely. "
        "Weights after equal steps: same weights."
    )
    failed = tried(FAILED, why="the program ended with code 1")
    assert proven(finding(1.2, 1.5, proof=failed)) == (
        "Could not be tried log=100: the program ended with code 1."
    )
