"""A run as it went: points, parts of equal steps, warm-up, events, processes on one clock."""

from __future__ import annotations

from itertools import pairwise

import pytest
from made_captures import S, analysis_of_windows, capture, in_a_row, iteration, second

from hotloop.analyze.analysis import analyze
from hotloop.analyze.comparing.compare import (
    figures,
)
from hotloop.analyze.over_time import interruptions, series, step_cost
from hotloop.analyze.over_time.series import RunSeries, common_unit
from hotloop.capture.window import PhaseDelta, Window, merged
from hotloop.phases import NO_PHASE_LABEL


def points(windows: list[Window], **options: int) -> list[series.SeriesPoint]:
    return series.points(capture(windows).main, **options)


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
    parts = step_cost.per_step(points(windows), iterations=20)
    assert 5 <= len(parts) <= 10
    assert sum(part.steps for part in parts) == 4000
    assert all(part.steps > 0 and part.own["learn"] > 0 for part in parts[:-1])


def test_no_steps_no_parts() -> None:
    assert step_cost.per_step(points([second(n, 0) for n in range(10)])) == []


def test_a_slow_start_is_a_warm_up() -> None:
    windows = [second(n, 10 if n < 10 else 30) for n in range(100)]
    end = step_cost.warm_up(step_cost.per_step(points(windows)))
    assert end is not None
    assert 5 <= end <= 15


@pytest.mark.parametrize("slow", [0, 95])
def test_a_steady_run_or_a_slow_end_has_none(slow: int) -> None:
    windows = [second(n, 10 if n >= slow > 0 else 30) for n in range(100)]
    assert step_cost.warm_up(step_cost.per_step(points(windows))) is None
    assert step_cost.warm_up([]) is None


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
    first, other = interruptions.interruptions(windows)
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
    found = interruptions.interruptions(windows)
    assert len(found) == interruptions.MOST_INTERRUPTIONS
    assert found[-1].begin_s == pytest.approx(999.5)


def test_bands_hold_all_the_time() -> None:
    run = points([second(0, env_step=0.5, log=0.1, a=0.2), second(1, env_step=0.9)])
    known = {"env.step": "Environment", "log": "Logging", "a": "Custom"}
    bands = step_cost.bands(run, known, 1)
    assert list(bands) == ["env.step", step_cost.OTHER_PHASES, NO_PHASE_LABEL]
    assert bands[step_cost.OTHER_PHASES] == [pytest.approx(0.3), 0]
    for index, point in enumerate(run):
        assert sum(values[index] for values in bands.values()) == pytest.approx(point.seconds)
    per_step = step_cost.per_step_bands(run, list(bands))
    assert per_step["env.step"] == [pytest.approx(0.05), pytest.approx(0.09)]
    assert per_step[step_cost.OTHER_PHASES] == [pytest.approx(0.03), 0]


def test_report_and_comparison_remove_the_same_cost() -> None:
    """The sampler, hooks and recordings of the device: what one removes, the other removes."""
    window = second(0, env_step=0.6)
    window.gauges |= {"sampler_ns": 0.01 * S, "hooks_ns": 0.02 * S, "device_ns": 0.3 * S}
    assert series.own_cost_s(window) == pytest.approx(0.33)
    analysis = analyze(capture([window]))
    run = series.RunSeries(analysis)
    whole = run.step_range("env_steps", 0, run.reached("env_steps"))
    assert whole.amounts.seconds == pytest.approx(analysis.run.loop_s)
    assert analysis.run.loop_s == pytest.approx(0.67)


def test_points_merge_as_their_windows_do() -> None:
    windows = [second(n, env_step=0.1 * n) for n in range(4)]
    points = [series.point_of(window) for window in windows]
    whole, merged_first = series.together(points), series.point_of(merged(windows) or windows[0])
    assert whole.own == pytest.approx(merged_first.own)
    assert whole.total == pytest.approx(merged_first.total)
    assert (whole.calls, whole.counters) == (merged_first.calls, merged_first.counters)
    assert whole.gauges == merged_first.gauges


def test_a_step_range_ends_where_the_steps_end() -> None:
    run = RunSeries(analysis_of_windows(in_a_row([(100, 1000, 0), (100, 3000, 1000)])))
    whole = run.step_range("env_steps", 0, 200)
    assert whole.amounts.seconds == pytest.approx(5.0)
    half = run.step_range("env_steps", 100, 150)
    assert half.amounts.seconds == pytest.approx(2.0)
    assert half.amounts.own["env.step"] == pytest.approx(1.5)
    assert half.amounts.total["collect"] == pytest.approx(1.5)
    assert (half.begin_s, half.end_s) == pytest.approx((1.0, 3.0))


def test_more_steps_than_a_run_made_are_all_its_steps() -> None:
    run = RunSeries(analysis_of_windows(in_a_row([(100, 1000, 0)])))
    assert run.step_range("env_steps", 0, 1e9).amounts.seconds == pytest.approx(1.0)
    assert run.reached("env_steps") == 100
    assert run.reached("gradient_steps") == 0


def test_a_run_that_went_further_is_read_up_to_where_the_other_ended() -> None:
    # Steps get slower over the run; the longer run is no slower for having gone further.
    rows = [(100.0, 1000.0 * (n + 1), 0.0) for n in range(6)]
    long, short = analysis_of_windows(in_a_row(rows)), analysis_of_windows(in_a_row(rows[:3]))
    sides = [figures(RunSeries(each), "env_steps", 300, each) for each in (long, short)]
    assert sides[0].seconds == pytest.approx(sides[1].seconds)


def test_the_unit_is_the_best_that_both_count() -> None:
    steps = RunSeries(analysis_of_windows(in_a_row([(100, 1000, 0)])))
    offline = RunSeries(
        analysis_of_windows(
            [iteration(0, 0, 1000, counters={"gradient_steps": 5, "iterations": 2})]
        )
    )
    nothing = RunSeries(analysis_of_windows([iteration(0, 0, 1000)]))
    assert common_unit([steps, steps]) == "env_steps"
    assert common_unit([offline]) == "iterations"
    assert common_unit([steps, nothing]) is None
    assert common_unit([]) is None
