"""Returns of a run, from windows that are made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_captures import capture_of

from hotloop.analyze.over_time.returns import find_returns
from hotloop.capture import schema
from hotloop.capture.episodes import EpisodeDelta
from hotloop.capture.reader import Shard
from hotloop.capture.schema import Header, Notes
from hotloop.capture.window import Window

SECOND = 1_000_000_000


def ended(count: int, value: float, length: int = 10) -> EpisodeDelta:
    return EpisodeDelta(
        count, 0, count * value, count * value * value, value, value, count * length, length, length
    )


def window(number: int, best: float | None = None, **kinds: EpisodeDelta) -> Window:
    counters = {schema.ENV_STEPS: 100.0, schema.GRADIENT_STEPS: 10.0}
    gauges = {}
    if best is not None:
        gauges = {schema.RETURN_BEST: best, schema.RETURN_BEST_S: number + 0.5}
    return Window(
        number,
        number,
        number * SECOND,
        (number + 1) * SECOND,
        counters=counters,
        gauges=gauges,
        episodes=kinds,
        loop_last_ns=(number + 1) * SECOND,
    )


def shard(windows: list[Window], role: str = "main", **notes: object) -> Shard:
    header = Header({"role": role, "pid": 1, "host": "here", "origin_ns": 0, "native": True})
    return Shard(Path(f"{role}.jsonl"), header, Notes(notes), windows)


def test_the_last_tenth_and_the_curve() -> None:
    windows = [window(n, training=ended(5, float(n))) for n in range(20)]
    found = find_returns(capture_of(shard(windows)), windows)
    assert found.last == 18.5
    assert found.training.episodes == 100
    assert [point.mean for point in found.points] == list(range(20))
    assert found.points[-1].end_s == 20.0
    assert found.points[-1].env_steps == 2000
    assert found.points[-1].gradient_steps == 200
    assert found.why_none == ""


def test_raw_returns_are_the_figures_and_shaped_ones_stand_beside() -> None:
    windows = [window(n, training=ended(5, 1.0), training_raw=ended(5, 30.0)) for n in range(3)]
    found = find_returns(capture_of(shard(windows)), windows)
    assert found.last == 30.0
    assert found.shaped is not None
    assert found.shaped.mean == 1.0
    same = [window(n, training=ended(5, 30.0), training_raw=ended(5, 30.0)) for n in range(3)]
    assert find_returns(capture_of(shard(same)), same).shaped is None


def test_rounded_returns_are_not_shaped_ones() -> None:
    # `Monitor` rounds to six decimals, and returns of both signs have a mean near zero.
    def shaped(raw: tuple[float, float], own: tuple[float, float]) -> EpisodeDelta | None:
        windows = [
            window(n, training=ended(5, own[n]), training_raw=ended(5, raw[n])) for n in range(2)
        ]
        return find_returns(capture_of(shard(windows)), windows).shaped

    assert shaped((0.000123, -0.000124), (0.0001234, -0.0001236)) is None
    assert shaped((200.0, -199.99), (200.0003, -199.99)) is None
    assert shaped((2.0, -1.0), (0.2, -0.1)) is not None
    assert shaped((0.02, -0.01), (0.03, -0.01)) is not None


def test_impossible_squares_of_a_damaged_capture_cost_no_report() -> None:
    damaged = ended(5, 2.0)
    damaged.squares = -1.0
    windows = [window(0, training=damaged, training_raw=ended(5, 1.0))]
    assert find_returns(capture_of(shard(windows)), windows).shaped is not None


def test_workers_count_where_the_main_process_saw_nothing() -> None:
    workers = [
        shard([window(n, training=ended(2, 7.0)) for n in range(4)], f"worker-{i}")
        for i in range(2)
    ]
    seen = [window(n, training=ended(4, 7.0)) for n in range(4)]
    driven = find_returns(capture_of(shard(seen), *workers), seen)
    assert driven.training.episodes == 16
    blind = [window(n) for n in range(4)]
    found = find_returns(capture_of(shard(blind), *workers), blind)
    assert found.training.episodes == 16
    assert found.last == 7.0


def test_when_a_return_was_reached() -> None:
    windows = [window(n, best=float(10 * n), training=ended(5, 1.0)) for n in range(1, 6)]
    found = find_returns(capture_of(shard(windows)), windows)
    reached = found.reached(25.0)
    # 20 was reached at 2.5 s and 30 at 3.5 s of the clock; the loop began at 1 s.
    assert reached is not None
    assert reached.seconds == pytest.approx(2.0)
    assert reached.env_steps == pytest.approx(200.0)
    assert found.reached(50.1) is None
    assert found.best == 50.0


def test_without_a_recorded_mean_windows_show_it() -> None:
    windows = [window(n, training=ended(50, float(n))) for n in range(5)]
    found = find_returns(capture_of(shard(windows)), windows)
    assert found.best == 3.5  # of the last hundred
    reached = found.reached(2.0)
    assert reached is not None
    assert 2.0 < reached.seconds <= 4.0


def test_it_says_why_there_is_no_return() -> None:
    plain = [window(n) for n in range(3)]
    capture = capture_of(shard(plain))
    assert find_returns(capture, plain).why_none.startswith("no episode ended")
    for each in plain:
        each.counters[schema.EPISODES] = 1
    assert "on the device" in find_returns(capture, plain).why_none
    odd = [window(n, training=EpisodeDelta(unknown=3)) for n in range(3)]
    assert "as a number" in find_returns(capture_of(shard(odd)), odd).why_none
