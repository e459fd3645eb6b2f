"""One-time work inside the loop."""

from __future__ import annotations

import pytest
from analyses import Make, phase

from hotloop.analyze.one_time_work import Once, find_once
from hotloop.capture.window import PhaseDelta, Window
from hotloop.diagnose.evidence import of_loop, seconds_in
from hotloop.diagnose.rules.environments import episodes

LOOP_S = 20.0


def windows(path: str, *calls: list[float]) -> list[Window]:
    """A window for each list of calls, in seconds."""
    made = []
    for number, each in enumerate(calls):
        begin = number * 1_000_000_000
        delta = PhaseDelta(len(each), 0, round(sum(each) * 1e9))
        delta.max_ns = round(max(each, default=0.0) * 1e9)
        made.append(Window(number, number, begin, begin + 1_000_000_000, {path: delta}))
    return made


def test_a_long_first_reset() -> None:
    (found,) = find_once(windows("env.reset", [5.2, 0.01], [0.01, 0.01]), LOOP_S)
    assert found == Once("env.reset", "env.reset", pytest.approx(5.19))


def test_calls_that_recur_are_no_exception() -> None:
    assert not find_once(windows("env.reset", [5.2, 0.01], [0.01, 4.9]), LOOP_S)
    assert not find_once(windows("env.reset", [0.05, 0.001], [0.001]), LOOP_S)  # too short
    assert not find_once(windows("env.step", [0.5, 0.3], [0.4, 0.2]), LOOP_S)


def test_a_call_of_many_windows_counts_with_all_of_them() -> None:
    """A second search of 4 s, after one of 13 s, is no sign that the first was an exception."""
    made = windows("search", *[[]] * 13, [13.0], *[[]] * 4, [4.0])
    for window in made:
        window.phases["search"].elapsed_ns = 1_000_000_000
    assert not find_once(made, LOOP_S)


def test_imports_and_the_first_compilation() -> None:
    assert find_once(windows("learn/import", [0.4], [0.3]), LOOP_S)[0].seconds == pytest.approx(0.7)
    assert find_once(windows("learn/compile", [3.0]), LOOP_S)
    assert not find_once(windows("learn/compile", *[[3.0]] * 4), LOOP_S)  # compiled again and again


def test_a_call_that_spans_windows_counts_whole() -> None:
    spanning = windows("import", [], [], [4.0])
    for window, seconds in zip(spanning, (1.7, 1.9, 0.4), strict=True):
        window.phases["import"].elapsed_ns = round(seconds * 1e9)
    assert find_once(spanning, LOOP_S)[0].seconds == pytest.approx(4.0)
    still_open = find_once(spanning[:2], LOOP_S)
    assert still_open[0].seconds == pytest.approx(3.6)


def test_each_moment_counts_once() -> None:
    outer = windows("learn", [4.0, 0.01], [0.01])
    inner = windows("learn/compile", [3.9], [])
    for window, more in zip(outer, inner, strict=True):
        window.phases.update(more.phases)
    assert [each.path for each in find_once(outer, LOOP_S)] == ["learn/compile"]


def test_no_finding_counts_one_time_work(make: Make) -> None:
    analysis = make(phase("env.step", 2.0), phase("env.reset", 5.3, calls=11), env_steps=1000)
    assert episodes.slow_reset(analysis)
    analysis.once = [Once("env.reset", "env.reset", 5.2)]
    analysis.run.once_s = 5.2
    assert not episodes.slow_reset(analysis)
    assert seconds_in(analysis, "env.reset") == pytest.approx(0.1)
    assert of_loop(analysis, 2.0) == pytest.approx(2.0 / 4.8)
    assert analysis.run.steps_per_s == pytest.approx(1000 / 4.8)


@pytest.mark.parametrize(("late", "said"), [(0, True), (1, False)])
def test_compilation_that_ended_early_by_the_loops_progress(late: int, said: bool) -> None:
    """It took most of the recorded time, but only the first of many gradient steps."""
    made = windows("compile", *[[0.3] * 3] * 6, [], [], [0.3] * late)
    for window, updates in zip(made, [1, 0, 0, 0, 0, 0, 80, 80, 80], strict=True):
        window.counters["gradient_steps"] = updates
    assert bool(find_once(made, LOOP_S)) is said


def test_compiling_until_the_end_is_no_one_time_work() -> None:
    """The last window in which something was compiled counts whole."""
    assert not find_once(windows("compile", [0.1] * 100), LOOP_S)
    assert not find_once(windows("compile", [0.1] * 50, [0.1] * 50), LOOP_S)
    assert find_once(windows("compile", [0.1] * 50, [], []), LOOP_S)


def test_a_phase_inside_of_one_time_work_has_its_part_of_it() -> None:
    """A rollout whose first call compiles the policy: acting takes 1 s of ten, not 5 s."""
    first = windows("collect", [4.2], *[[0.2]] * 9)
    act = [4.1, *[0.1] * 9]
    for window, seconds in zip(first, act, strict=True):
        delta = PhaseDelta(10, 0, round(seconds * 1e9))
        delta.max_ns = round(seconds * 1e8)  # no single call is an exception
        window.phases["collect/policy.act"] = delta
    (found,) = find_once(first, LOOP_S)
    assert found.path == "collect"
    assert found.parts == {"collect/policy.act": pytest.approx(4.0)}
    assert found.inside(("collect/policy.act",)) == pytest.approx(4.0)
    assert found.inside(("collect",)) == found.seconds
    assert found.inside(("learn",)) == 0
    assert dict(found.own_times()) == {
        "collect": pytest.approx(found.seconds - 4.0),
        "policy.act": pytest.approx(4.0),
    }
