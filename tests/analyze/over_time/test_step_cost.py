"""Steps per second of programs that collect and learn in turns."""

from __future__ import annotations

import pytest

from hotloop.analyze.over_time.series import SeriesPoint
from hotloop.analyze.over_time.step_cost import throughput


def point(second: int, steps: float, learning: float = 0.0) -> SeriesPoint:
    own = {"learn.backward": learning, "env.step": 1 - learning}
    return SeriesPoint(
        second, second + 1, seconds=1.0, own=own, counters={"env_steps": steps} if steps else {}
    )


def test_an_iteration_is_a_rollout_and_its_learning() -> None:
    run = [
        point(n, 0 if n % 4 in (2, 3) else 100, 1.0 if n % 4 in (2, 3) else 0.0) for n in range(8)
    ]
    found = throughput(run)
    assert [(p.begin_s, p.end_s) for p in found] == [(0, 4), (4, 8)]
    assert [p.steps_per_s for p in found] == [50, 50]


def test_a_last_rollout_without_its_learning_is_left_out() -> None:
    run = [point(0, 100), point(1, 0, 1.0), point(2, 100)]
    assert [p.end_s for p in throughput(run)] == [2]


@pytest.mark.parametrize("learning", [0.0, 0.6])
def test_a_program_that_steps_in_every_point_keeps_its_points(learning: float) -> None:
    run = [point(n, 100, learning) for n in range(10)]
    assert throughput(run) == run
