"""What a capture contains besides its sums."""

from __future__ import annotations

from pathlib import Path

from analyses import Make, phase, window
from made_captures import capture_of, made_shard

from hotloop.analyze.over_time.history import RunHistory


def history(seconds: int) -> RunHistory:
    rows = [
        window(n, {"env.step": (0.9, 10)}, counters={"env_steps": 10.0}) for n in range(seconds)
    ]
    for row in rows:
        row.loop_last_ns = row.end_ns
    shard = made_shard("main", {}, {"categories": {"mine": "Data"}}, rows)
    return RunHistory(capture_of(shard))


def test_points_are_few_enough_and_every_window_has_one() -> None:
    run = history(12)
    assert len(run.points(most=4)) <= 5
    assert sum(point.steps for point in run.points(most=4)) == 120
    assert len(run.every_point()) == 12


def test_parts_hold_two_iterations(make: Make) -> None:
    learns = phase("learn", 1.0, calls=8)
    assert len(history(12).parts(make(learns))) == 4
    assert len(history(120).parts(make())) == 40


def test_categories_and_the_folder_are_the_captures() -> None:
    assert history(1).categories == {"mine": "Data"}
    assert history(1).folder == Path("run")
    assert history(1).later_s == 0.0
