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
    growth_sentences,
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


def test_no_setting_is_marked_if_the_runs_differ_too_much_to_tell() -> None:
    made = sweep(["1", "4", "16", "64"])
    for point in made.points:
        point.low, point.high = 0.1 * point.throughput, 100 * point.throughput
    assert headline(made).startswith("The runs differ too much to tell")
    assert not any("fastest" in marks_of(made, point) for point in made.points)


def test_growth_names_no_phase_that_may_not_depend_on_the_setting() -> None:
    made = sweep(["1", "4", "16", "64"])
    (growth,) = made.growths
    said = growth_sentences(made)
    assert any(line.startswith("Time per environment step scales as envs to") for line in said)
    growth.phases.clear()
    growth.phases["env.step"] = Interval(0.3, -1.2, 0.7)
    assert not any("steepest" in line for line in growth_sentences(made))
    growth.phases["env.step"] = Interval(0.3, 0.2, 0.4)
    assert any("steepest phase is env.step: 0.30" in line for line in growth_sentences(made))


def test_json_has_no_infinity() -> None:
    document = json.dumps(sweep_document(sweep(["1", "4", "16"])))
    assert "Infinity" not in document
    assert "NaN" not in document
