"""Figures of part of a run, to draw beside learning curves."""

from __future__ import annotations

import pytest

from hotloop.analyze.over_time.curves import MOST_PHASES, Curves
from hotloop.analyze.over_time.series import SeriesPoint
from hotloop.capture.schema import ENV_STEPS, GRADIENT_STEPS
from hotloop.phases import NO_PHASE


def part(
    own: dict[str, float], counters: dict[str, float], seconds: float = 2.0, **total: float
) -> SeriesPoint:
    return SeriesPoint(
        begin_s=0.0, end_s=seconds, seconds=seconds, own=own, total=total, counters=counters
    )


def test_times_are_per_environment_step_and_add_up() -> None:
    own = {"env.step": 1.0, "learn.backward": 0.8, NO_PHASE: 0.2}
    found = Curves().figures(part(own, {ENV_STEPS: 100.0, GRADIENT_STEPS: 10.0}, learn=0.9))
    assert found["hotloop/steps_per_s"] == 50.0
    assert found["hotloop/gradient_steps_per_s"] == 5.0
    assert found["hotloop/all_ms_per_step"] == 20.0
    assert found["hotloop/learn_in_all_ms_per_step"] == pytest.approx(9.0)
    parts = ("env.step", "learn.backward", "in_no_phase")
    assert sum(found[f"hotloop/{name}_ms_per_step"] for name in parts) == pytest.approx(20.0)


def test_without_an_environment_times_are_per_gradient_step() -> None:
    found = Curves().figures(part({"learn.backward": 1.0}, {GRADIENT_STEPS: 4.0}))
    assert found["hotloop/learn.backward_ms_per_gradient_step"] == 250.0


def test_a_part_without_steps_has_no_figures() -> None:
    assert Curves().figures(part({"env.step": 1.0}, {})) == {}
    assert Curves().figures(part({"env.step": 1.0}, {ENV_STEPS: 5.0}, seconds=0.0)) == {}


def test_a_phase_keeps_its_curve_and_small_ones_get_none() -> None:
    curves, steps = Curves(), {ENV_STEPS: 10.0}
    curves.figures(part({"env.step": 1.9, "log": 0.1, "tiny": 0.001}, steps))
    later = curves.figures(part({"env.step": 2.0}, steps))
    assert later["hotloop/log_ms_per_step"] == 0.0
    assert not [name for name in later if "tiny" in name]


def test_the_number_of_curves_is_limited() -> None:
    own = {f"phase{number}": 0.02 for number in range(MOST_PHASES + 20)}
    found = Curves().figures(part(own, {ENV_STEPS: 10.0}))
    assert sum("phase" in name for name in found) == MOST_PHASES


def test_memory_and_return_where_they_are_known() -> None:
    found = Curves().figures(part({"env.step": 1.0}, {ENV_STEPS: 1.0}), 512.0, 195.0)
    assert (found["hotloop/memory_mb"], found["hotloop/return_mean_100"]) == (512.0, 195.0)
