"""A run as it went: points, parts of equal steps, warm-up, events, processes on one clock."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hotloop.analyze import course
from hotloop.analyze.analysis import analyze
from hotloop.analyze.flame import NO_PHASE
from hotloop.analyze.now import now_of
from hotloop.analyze.rows import COUNTER, GAUGE, PHASE, window_rows
from hotloop.analyze.tracks import tracks_of
from hotloop.analyze.tree import RegionCost
from hotloop.capture.reader import Capture, Shard
from hotloop.capture.slices import Slice, Slices
from hotloop.capture.window import PhaseDelta, Window

S = 1_000_000_000


def second(number: int, steps: int = 10, loop: bool = True, **phases: float) -> Window:
    """One second of a run: phases with their own time in it."""
    begin = number * S
    own = {
        name.replace("_", "."): PhaseDelta(1, round(s * S), round(s * S), 0, 0, 0, begin + 1, begin)
        for name, s in phases.items()
    }
    idle = 1 - sum(phases.values())
    own[""] = PhaseDelta(self_ns=round(idle * S))
    gauges = {"resident": 1e8 + number, "resident_peak": 2e8, "process_cpu_ns": 0.5 * S}
    counters = {"env_steps": steps} if steps else {}
    end = begin + S
    return Window(number, number, begin, end, own, counters, {}, gauges, end if loop else 0)


def capture(windows: list[Window], **header: Any) -> Capture:
    return Capture(Path("run"), [Shard("main", {"role": "main", **header}, {}, windows)])


def points(windows: list[Window], **options: int) -> list[course.Point]:
    return course.points(capture(windows).main, RegionCost(), **options)


def test_points_say_what_each_second_was() -> None:
    run = points([second(0, 0, False, data=0.4), second(1, env_step=0.6), second(2, env_step=0.7)])
    assert [point.part for point in run] == ["startup", "loop", "loop"]
    assert run[1].own == {"env.step": pytest.approx(0.6), "": pytest.approx(0.4)}
    assert (run[1].steps_per_s, run[1].cores, run[1].memory_mb) == (10, 0.5, 100.000001)
    assert (run[1].step_s, run[0].step_s) == (0.1, None)
    assert (run[1].gpu_busy, run[1].gpu_memory_mb) == (None, None)


def test_the_gpu_is_there_where_somebody_measured_it() -> None:
    window = second(0)
    window.gauges.update(gpu_busy_ns=0.25 * S, gpu_memory=5e8)
    (point,) = points([window])
    assert (point.gpu_busy, point.gpu_memory_mb) == (0.25, 500)


def test_a_long_run_has_few_points_and_all_of_its_time() -> None:
    windows = [second(n, 0, n >= 100, env_step=0.5) for n in range(1000)]
    run = points(windows, most=50)
    assert len(run) <= 52
    assert sum(point.own["env.step"] for point in run) == pytest.approx(500)
    assert all(one.end_s == other.begin_s for one, other in pairwise(run))
    assert {point.part for point in run if point.end_s <= 100} == {"startup"}


def test_collecting_and_learning_in_turns_gives_parts_with_both() -> None:
    # Two seconds of steps, then three of learning, as PPO does.
    windows = [
        second(n, 100, env_step=1.0) if n % 5 < 2 else second(n, 0, learn=1.0) for n in range(100)
    ]
    parts = course.per_step(points(windows), iterations=20)
    assert 5 <= len(parts) <= 10
    assert sum(part.steps for part in parts) == 4000
    assert all(part.steps > 0 and part.own["learn"] > 0 for part in parts[:-1])


def test_no_steps_no_parts() -> None:
    assert course.per_step(points([second(n, 0) for n in range(10)])) == []


def test_a_slow_start_is_a_warm_up() -> None:
    windows = [second(n, 10 if n < 10 else 30) for n in range(100)]
    end = course.warm_up(course.per_step(points(windows)))
    assert end is not None
    assert 5 <= end <= 15


@pytest.mark.parametrize("slow", [0, 95])
def test_a_steady_run_or_a_slow_end_has_none(slow: int) -> None:
    windows = [second(n, 10 if n >= slow > 0 else 30) for n in range(100)]
    assert course.warm_up(course.per_step(points(windows))) is None
    assert course.warm_up([]) is None


def test_an_evaluation_over_windows_is_one_event() -> None:
    def evaluating(number: int, first: float, last: float, seconds: float, calls: int) -> Window:
        window = second(number)
        window.phases["evaluate"] = PhaseDelta(
            calls, 0, round(seconds * S), 0, 0, 0, round(first * S), round(last * S)
        )
        return window

    windows = [
        evaluating(1, 1.5, 0, 0.5, 0),
        evaluating(2, 0, 0, 1.0, 0),
        evaluating(3, 0, 3.25, 0.25, 1),
        second(4),
        evaluating(5, 5.1, 5.2, 0.1, 1),
    ]
    first, other = course.events(windows)
    assert (first.name, first.begin_s, first.end_s) == ("evaluate", 1.5, 3.25)
    assert (first.seconds, first.calls) == (1.75, 1)
    assert (other.begin_s, other.end_s) == (5.1, 5.2)


def test_events_are_bounded() -> None:
    windows = []
    for number in range(1000):
        window = second(number)
        begin = number * S + S // 2
        window.phases["checkpoint"] = PhaseDelta(1, 0, number, 0, 0, 0, begin, begin + number)
        windows.append(window)
    found = course.events(windows)
    assert len(found) == course.MOST_EVENTS
    assert found[-1].begin_s == pytest.approx(999.5)


def test_bands_hold_all_the_time() -> None:
    run = points([second(0, env_step=0.5, log=0.1, a=0.2), second(1, env_step=0.9)])
    known = {"env.step": "Environment", "log": "Logging", "a": "Custom"}
    bands = course.bands(run, known, 1)
    assert list(bands) == ["env.step", course.OTHER_PHASES, NO_PHASE]
    assert bands[course.OTHER_PHASES] == [pytest.approx(0.3), 0]
    for index, point in enumerate(run):
        assert sum(values[index] for values in bands.values()) == pytest.approx(point.seconds)
    per_step = course.per_step_bands(run, list(bands))
    assert per_step["env.step"] == [pytest.approx(0.05), pytest.approx(0.09)]
    assert per_step[course.OTHER_PHASES] == [pytest.approx(0.03), 0]


def test_clocks_of_one_host_and_of_two() -> None:
    main = Shard("main", {"host": "a", "origin_ns": 5 * S, "started": 100.0})
    same = Shard("w", {"host": "a", "origin_ns": 7 * S, "started": 900.0})
    other = Shard("w", {"host": "b", "origin_ns": 9 * S, "started": 103.0})
    assert course.offset_s(same, main) == 2
    assert course.offset_s(other, main) == 3
    assert course.offset_s(Shard("w", {}), main) == 0


def test_busy_shares_over_time() -> None:
    shard = Shard("w", {}, {}, [second(0, env_step=0.5), second(1, env_step=0.2, wait=0.8)])
    assert course.busy_shares(shard, 0, 4, 4) == [0.5, 0.2, None, None]
    assert course.busy_shares(shard, 0, 2, 1) == [pytest.approx(0.35)]
    assert course.busy_shares(shard, 0, 0, 4) == []


def test_now_is_the_last_seconds() -> None:
    windows = [second(n, 10 if n < 50 else 40, env_step=0.5) for n in range(60)]
    windows[-1].loop_last_ns -= S // 10  # the next step has not come yet
    running = capture(windows)
    now = now_of(running, analyze(running))
    assert (now.ended, now.in_loop) == (False, True)
    assert now.steps_per_s == pytest.approx(40)
    assert now.mean_steps_per_s < 20
    assert now.elapsed_s == 60
    assert now.phases[0].name in ("env.step", NO_PHASE)
    assert {p.name: p.recent for p in now.phases}["env.step"] == pytest.approx(0.5)
    assert len(now.curve) == 60
    assert now.memory_mb is not None
    running.main.end = {}
    assert now_of(running, analyze(running)).ended


def test_now_while_starting_up_and_before() -> None:
    starting = capture([second(0, 0, False, data=0.9)])
    assert now_of(starting, analyze(starting)).steps_per_s == 0
    empty = capture([])
    assert now_of(empty, analyze(empty)).elapsed_s == 0


def test_rows_hold_every_figure_of_every_window() -> None:
    run = capture([second(0, 0, False, data=0.4), second(1, env_step=0.6)], pid=7)
    worker = Shard("w", {"role": "w", "origin_ns": 3 * S, "host": "a"}, {}, [second(0)])
    run.main.header.update(origin_ns=1 * S, host="a")
    run.shards.append(worker)
    rows = list(window_rows(run))
    steps = [row for row in rows if row.kind == COUNTER]
    assert [(row.process, row.name, row.value) for row in steps] == [
        ("main", "env_steps", 10),
        ("w", "env_steps", 10),
    ]
    assert steps[1].begin_s == pytest.approx(2)
    step = next(row for row in rows if row.kind == PHASE and row.name == "env.step")
    assert (step.part, step.category, step.calls, step.pid) == ("loop", "Environment", 1, 7)
    assert step.self_s == pytest.approx(0.6)
    assert sum(row.self_s or 0 for row in rows if row.process == "main") == pytest.approx(2)
    assert {row.name for row in rows if row.kind == GAUGE} >= {"resident", "resident_peak"}


def test_slices_that_cross_get_a_track_of_their_own() -> None:
    slices = [
        Slice("a", 0, 100),
        Slice("a/b", 10, 50),
        Slice("c", 40, 140),  # a task that took turns
        Slice("a/d", 50, 60),
        Slice("@thread-1/e", 0, 10),
        Slice("f", 100, 120),
    ]
    run = capture([], origin_ns=5)
    process = tracks_of(Slices("main", {"role": "main", "pid": 3, "origin_ns": 5}, slices), run)
    shown = [(t.thread, t.number, [s.path for s in t.slices]) for t in process.tracks]
    assert shown == [
        ("main", 0, ["a", "a/b", "a/d", "f"]),
        ("main", 1, ["c"]),
        ("thread-1", 0, ["@thread-1/e"]),
    ]
    assert process.offset_ns == -5
