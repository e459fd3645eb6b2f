"""Sweeps: efficiency, exponents, the knee, and expected beside actual."""

from __future__ import annotations

import math
import random

import pytest

from hotloop.analyze.comparing.compare import Figures
from hotloop.analyze.comparing.scaling import (
    Trial,
    add_efficiency,
    expectation,
    exponent,
    growth_of,
    is_numeric,
    knee,
    points_of,
)

pytest.importorskip("scipy")


def trial(
    values: tuple[str, ...], round: int, own: dict[str, float], steps: float = 1000.0
) -> Trial:
    seconds = sum(own.values())
    figures = Figures(seconds, own, own, {}, memory_mb=100.0)
    return Trial(values, round, figures, seconds * steps, steps)


def sweep_of(cost: object, values: list[float], rounds: int = 3, sd: float = 0.01) -> list[Trial]:
    """Trials of one variable; `cost(x)` gives each phase's time per step."""
    chance = random.Random(1)
    return [
        trial(
            (f"{x:g}",),
            number,
            {n: s * math.exp(chance.gauss(0, sd)) for n, s in cost(x).items()},  # type: ignore[operator]
        )
        for number in range(rounds)
        for x in values
    ]


ENVS = [32.0, 64.0, 128.0, 256.0]


def test_numbers_can_grow_and_words_cannot() -> None:
    assert is_numeric(["32", "64"])
    assert not is_numeric(["loop", "batch"])
    assert not is_numeric(["0", "1"])
    assert not is_numeric(["32"])


def test_the_exponent_is_found_with_its_interval() -> None:
    trials = sweep_of(lambda x: {"env.step": x**1.5}, ENVS)
    interval = exponent(trials, 0, lambda t: t.figures.seconds)
    assert interval.estimate == pytest.approx(1.5, abs=0.03)
    assert interval.low < 1.5 < interval.high
    assert interval.half < 0.05


def test_an_exponent_of_two_points_has_no_interval() -> None:
    trials = sweep_of(lambda x: {"env.step": x}, [1.0, 2.0], rounds=1, sd=0)
    interval = exponent(trials, 0, lambda t: t.figures.seconds)
    assert interval.estimate == pytest.approx(1.0)
    assert interval.half == math.inf


def test_an_exponent_without_growth_in_the_variable() -> None:
    trials = [trial(("4",), number, {"env.step": 1.0}) for number in range(3)]
    assert math.isnan(exponent(trials, 0, lambda t: t.figures.seconds).estimate)


def test_other_variables_do_not_disturb_the_exponent() -> None:
    # With the second variable everything takes 100 times as long: a level, not a slope.
    trials = [
        trial((f"{x:g}", other), number, {"env.step": x * factor})
        for number in range(2)
        for x in ENVS
        for other, factor in (("small", 1.0), ("large", 100.0))
    ]
    assert exponent(trials, 0, lambda t: t.figures.seconds).estimate == pytest.approx(1.0)


def test_each_phase_has_an_exponent() -> None:
    growth = growth_of(
        sweep_of(lambda x: {"policy.act": 5.0, "learn": x * x / 1e3}, ENVS), "envs", 0
    )
    assert growth.phases["learn"].estimate == pytest.approx(2.0, abs=0.05)
    assert growth.phases["policy.act"].estimate == pytest.approx(0.0, abs=0.05)


def test_efficiency_is_beside_the_smallest() -> None:
    points = points_of(sweep_of(lambda x: {"env.step": 1.0 / x + 0.01}, ENVS, sd=0))
    add_efficiency(points, 0)
    assert points[0].efficiency == pytest.approx(1.0)
    expected = (1 / (1 / 256 + 0.01)) / (1 / (1 / 32 + 0.01)) / 8
    assert points[-1].efficiency == pytest.approx(expected)


def test_one_trial_says_nothing_about_noise() -> None:
    point = points_of(sweep_of(lambda x: {"env.step": 1.0}, [4.0], rounds=1))[0]
    assert (point.low, point.high) == (None, None)
    assert point.memory_mb == 100.0


# -- the knee --


def test_the_knee_is_where_more_brings_little() -> None:
    # Perfect up to 128, then nothing.
    values = [16.0, 32.0, 64.0, 128.0, 256.0, 512.0]
    points = points_of(sweep_of(lambda x: {"env.step": 1.0 / min(x, 128.0)}, values, sd=0.001))
    assert knee(points, 0, grows=False) == "128"


def test_no_knee_where_it_still_scales() -> None:
    points = points_of(sweep_of(lambda x: {"env.step": 1.0 / x}, ENVS))
    assert knee(points, 0, grows=False) is None


def test_the_knee_of_a_run_that_takes_more_than_its_share_of_time() -> None:
    trials = [
        trial((f"{x:g}",), number, {"learn": max(x, 400.0) ** 2}, steps=x)
        for number in range(2)
        for x in (100.0, 200.0, 400.0, 800.0, 1600.0)
    ]
    assert knee(points_of(trials), 0, grows=True) == "400"


def test_two_points_have_no_knee() -> None:
    points = points_of(sweep_of(lambda x: {"env.step": 1.0}, [1.0, 2.0]))
    assert knee(points, 0, grows=False) is None


# -- expected and actual --


def test_fourteen_times_slower_than_predicted() -> None:
    # 1,024 episodes in 175 s; 5,000 should take 854 s and take 199 minutes.
    def row(episodes: float, number: int, learn: float) -> Trial:
        steps = episodes * 10
        total = 175.0 if episodes == 1024 else 199 * 60.0
        own = {"env.step": total * (1 - learn) / steps, "learn": total * learn / steps}
        return trial((f"{episodes:g}",), number, own, steps)

    trials = [row(e, n, share) for n in range(3) for e, share in ((1024.0, 0.5), (5000.0, 0.9))]
    result = expectation(trials, "linear", "episodes", 0, cut=False)
    last = result.rows[-1]
    assert result.kind == "linear-time"
    assert last.expected == pytest.approx(854, abs=1)
    assert math.exp(last.factor.estimate) == pytest.approx(14, abs=0.05)
    assert result.responsible == "learn"
    assert result.part > 0.8
    assert result.steps_factor == pytest.approx(1.0)
    assert result.step_time_factor == pytest.approx(14, abs=0.05)


def test_a_run_that_is_cut_is_expected_to_scale_its_throughput() -> None:
    trials = sweep_of(lambda x: {"policy.act": 1.0 / x, "learn": 0.05}, ENVS)
    result = expectation(trials, "linear", "envs", 0, cut=True)
    assert result.kind == "linear-throughput"
    assert result.quantity == "steps_per_s"
    assert result.responsible == "learn"
    assert [row.value for row in result.rows] == ["32", "64", "128", "256"]


def test_as_expected_names_nobody() -> None:
    trials = sweep_of(lambda x: {"env.step": 0.5, "learn": 0.5}, ENVS)
    result = expectation(trials, "constant", "envs", 0, cut=True)
    assert result.responsible is None
    assert not result.rows[-1].factor.excludes_zero
