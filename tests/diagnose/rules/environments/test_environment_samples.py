"""Samples inside environments, in this process or in workers, on one scale."""

from __future__ import annotations

import pytest
from analyses import STEP, Make, frame, phase, sample

from hotloop.diagnose.rules.environments.environment_samples import (
    inside_steps,
    part_of,
    side_by_side,
)


def test_samples_of_the_main_process_are_scaled_to_measured_time(make: Make) -> None:
    samples = [
        sample("env.step", 1.0, STEP),
        sample("env.step", 1.0, frame("other")),
        sample("evaluate/env.step", 5.0, STEP),  # not part of training
        sample("learn", 3.0, STEP),
    ]
    found = inside_steps(make(phase("env.step", 4.0), samples=samples))
    assert (len(found.samples), found.seconds, found.scale) == (2, 4.0, 2.0)
    own = found.use(lambda each: each.function == STEP.function)
    assert own.seconds == pytest.approx(2.0)


def test_nothing_sampled_scales_nothing(make: Make) -> None:
    found = inside_steps(make(phase("env.step", 4.0)))
    assert (found.samples, found.scale) == ([], 0.0)


def test_work_of_processes_takes_as_long_as_the_cores_allow(make: Make) -> None:
    analysis = make(header={"cores": 4})
    assert side_by_side(analysis, [1.0, 1.0]) == 1.0
    assert side_by_side(analysis, [1.0] * 8) == 2.0
    assert side_by_side(analysis, [5.0, 1.0, 1.0, 1.0]) == 5.0  # the slowest decides


def test_parts() -> None:
    assert (part_of(3.0, 2.0), part_of(1.0, 4.0), part_of(1.0, 0.0)) == (1.0, 0.25, 0.0)
