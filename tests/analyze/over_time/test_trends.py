"""Trends: a line that odd windows do not move, and a slowdown split into its causes."""

from __future__ import annotations

import random

import pytest
from analyses import window

from hotloop.analyze.over_time.trends import _on_core, find_trends, mann_kendall, trend
from hotloop.capture.window import PhaseDelta, Window

S = 1_000_000_000


def spent(calls: float, each_s: float) -> PhaseDelta:
    ns = round(calls * each_s * S)
    return PhaseDelta(round(calls), ns, ns)


def loop(
    seconds: int,
    step_s: float = 0.001,
    grows: float = 0.0,
    episode: float = 100.0,
    longer: float = 0.0,
    learns_from: int = 0,
) -> list[Window]:
    """Windows of a second: env.step takes `step_s`, and grows by that factor over the run."""
    windows = []
    for i in range(seconds):
        part = i / max(seconds - 1, 1)
        cost = step_s * (1 + grows * part)
        steps = 1 / (cost + 0.25 * step_s)
        length = episode * (1 + longer * part)
        counters = {"env_steps": steps, "episodes": steps / length}
        if i >= learns_from:
            counters |= {"gradient_steps": steps, "samples": 32 * steps}
        phases = {
            "env.step": spent(steps, cost),
            "learn": spent(steps, 0.25 * step_s),
        }
        windows.append(
            Window(i, i, i * S, (i + 1) * S, phases, counters, gauges={"resident": 1e9 + i * 1e6})
        )
    return windows


def test_a_line_through_clean_points() -> None:
    found = trend([0, 1, 2, 3, 4, 5], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert found is not None
    assert found.first == pytest.approx(1.0)
    assert found.last == pytest.approx(6.0)
    assert found.grows


def test_an_odd_window_does_not_move_the_line() -> None:
    ys = [1.0, 1.1, 1.0, 1.1, 50.0, 1.0, 1.1, 1.0, 1.1, 1.0]
    found = trend(list(range(10)), ys)
    assert found is not None
    assert found.ratio == pytest.approx(1.0, abs=0.15)
    assert not found.grows


def test_noise_is_hardly_ever_a_trend() -> None:
    rng = random.Random(0)
    said = 0
    for _ in range(400):
        found = trend(list(range(12)), [rng.gauss(1, 0.2) for _ in range(12)])
        assert found is not None
        said += found.sure
    assert said <= 0.04 * 400


def test_mann_kendall_knows_order_ties_and_nothing() -> None:
    assert mann_kendall([1, 2, 3, 4, 5, 6, 7, 8]) < 0.002
    assert mann_kendall([1, 1, 1, 1, 1]) == 1.0
    assert mann_kendall([1, 2, 1, 2, 1, 2]) > 0.3


def test_too_few_points_are_no_trend() -> None:
    assert trend([0, 1], [1, 2]) is None
    found = trend([0, 1, 2], [1, 2, 3])
    assert found is not None
    assert not found.sure


def test_longer_episodes_are_told_from_slower_steps() -> None:
    slowdown = find_trends(loop(20, longer=2.0)).slowdown
    assert slowdown is not None
    assert slowdown.episodes_longer == pytest.approx(2.2, rel=0.1)
    assert slowdown.steps_slower == pytest.approx(1.0, abs=0.02)
    assert slowdown.actual_s > 1.3 * slowdown.predicted_s


def test_slower_steps_are_told_by_phase() -> None:
    trends = find_trends(loop(20, grows=3.0))
    slowdown = trends.slowdown
    assert slowdown is not None
    assert slowdown.steps_slower == pytest.approx(2.6, rel=0.15)
    assert slowdown.episodes_longer == pytest.approx(1.0, abs=0.02)
    assert next(iter(slowdown.phases)) == "env.step"
    assert trends.phases["env.step"].grows
    assert trends.per_call["env.step"].ratio > 2


def test_a_machine_that_slows_down_is_no_trend_of_a_phase() -> None:
    """Other programs took the CPU: every phase is slower, and none of them grows."""
    windows = []
    for i in range(20):
        slow = 1 + i / 5
        phases = {
            "env.step": spent(500 / slow, 1e-3 * slow),
            "learn": spent(500 / slow, 1e-3 * slow),
        }
        windows.append(Window(i, i, i * S, (i + 1) * S, phases, {"env_steps": 500 / slow}))
    trends = find_trends(windows)
    assert trends.phases["env.step"].grows
    assert trends.per_call["env.step"].ratio == pytest.approx(1.0, abs=0.05)


def test_fourteen_times_longer_than_predicted_is_explained() -> None:
    """Time predicted by episodes may be 14 times too little; here by longer episodes alone."""
    slowdown = find_trends(loop(40, longer=27.0)).slowdown
    assert slowdown is not None
    assert slowdown.episode == pytest.approx(slowdown.episodes_longer * slowdown.steps_slower)
    assert slowdown.episodes_longer > 5
    assert slowdown.steps_slower == pytest.approx(1.0, abs=0.02)


def test_the_stretch_before_learning_is_left_out() -> None:
    trends = find_trends(loop(20, learns_from=8))
    assert len(trends.points) == 20
    assert len(trends.learning) == 12


def test_memory_and_many_windows() -> None:
    trends = find_trends(loop(3600))
    assert len(trends.points) <= 41
    assert trends.memory is not None
    assert trends.memory.grows


def test_no_windows_no_trends() -> None:
    trends = find_trends([])
    assert trends.points == []
    assert trends.per_step is None
    assert trends.slowdown is None


@pytest.mark.parametrize("counters", [{"gradient_steps": 100}, {}])
def test_without_environment_steps_trends_follow_updates_or_time(counters: dict[str, int]) -> None:
    windows = [
        window(number, {"learn.backward": (0.1 + 0.05 * number, 10)}, counters=counters)
        for number in range(12)
    ]
    slower = find_trends(windows).per_call["learn.backward"]
    assert slower.grows
    assert slower.ratio > 5


def test_waiting_for_a_core_is_no_growing_step() -> None:
    """Where steps are all there is, nothing else tells how fast the machine was."""
    waited, windows = 0.0, []
    for i in range(10):
        on_core = 1.0 if i < 4 else 0.25  # another program starts
        waited += 1 - on_core
        steps = 1000 * on_core
        phases = {"env.step": spent(steps, 0.00099 / on_core)}
        windows.append(
            Window(
                i,
                i,
                i * S,
                (i + 1) * S,
                phases,
                {"env_steps": steps},
                gauges={"main_delay_s": waited},
            )
        )
    found = find_trends(windows).per_call["env.step"]
    assert found.ratio == pytest.approx(1.0, abs=0.01)
    assert not found.grows


@pytest.mark.parametrize(("busy", "slow"), [(3, 1), (10, 2)])
def test_a_window_that_waits_for_nothing_is_not_like_the_one_before(busy: int, slow: int) -> None:
    """Only where a run ends may its waiting not have been read."""
    windows = []
    for i in range(12):
        phases = {"env.step": spent(1000, 0.00099)}
        gauges = {"main_delay_s": 0.5 * (i >= busy)}
        windows.append(Window(i, i, i * S, (i + 1) * S, phases, {"env_steps": 1000}, gauges=gauges))
    shares = _on_core(find_trends(windows).points)
    assert list(shares.values()).count(0.5) == slow
    assert list(shares.values()).count(1.0) == 12 - slow


def test_a_noisy_correction_makes_no_trend() -> None:
    """Steps are level and the main thread waits evenly; the few other calls vary by chance."""
    windows = []
    for i in range(10):
        other = 0.25 - 0.015 * i  # of 0.3 s each, once or twice
        phases = {"env.step": spent(400, 0.8 / 400), "learn": spent(100, other / 100)}
        gauges = {"main_delay_s": 0.8 * (i + 1)}
        windows.append(Window(i, i, i * S, (i + 1) * S, phases, {"env_steps": 400}, gauges=gauges))
    found = find_trends(windows).per_call["env.step"]
    assert found.ratio == pytest.approx(1.0, abs=0.01)
    assert not found.grows
