"""A sweep in words."""

from __future__ import annotations

import json
import math

import pytest

pytest.importorskip("scipy")
from made_experiments import sweep

from hotloop.analyze.comparing.scaling import Deviation
from hotloop.analyze.comparing.statistics import Interval
from hotloop.report.results.sweep import (
    design_in_words,
    headline,
    marks_of,
    power,
    slower_in_words,
    sweep_document,
)


def test_a_setting_that_is_slower_than_predicted() -> None:
    sure = Interval(math.log(14), math.log(13), math.log(15))
    assert slower_in_words(Deviation("64", 1.0, 14.0, sure)) == "14 times slower than predicted"
    unsure = Interval(math.log(2), -0.1, 2.0)
    assert "too few or too noisy" in slower_in_words(Deviation("64", 1.0, 2.0, unsure))
    none = Interval(0.0, -0.01, 0.01)
    assert slower_in_words(Deviation("64", 1.0, 1.0, none)) == "as predicted (within ±1.0%)"


def test_exponents() -> None:
    assert power(Interval(0.5, 0.4, 0.6)) == "0.50 (0.40 to 0.60)"
    assert power(Interval(0.5, -math.inf, math.inf)) == "0.50"


def test_the_knee_and_the_fastest_are_marked() -> None:
    made = sweep(["1", "4", "16", "64"])
    assert design_in_words(made) == "4 settings, 3 rounds, each run ends after 1000steps"
    marks = [marks_of(made, point) for point in made.points]
    assert sum("fastest" in each for each in marks) == 1
    assert sum("knee" in each for each in marks) == 1
    assert headline(sweep(["8"])) == (
        "Only one setting was measured, so there is nothing to compare it with."
    )


def test_json_has_no_infinity() -> None:
    document = json.dumps(sweep_document(sweep(["1", "4", "16"])))
    assert "Infinity" not in document
    assert "NaN" not in document
