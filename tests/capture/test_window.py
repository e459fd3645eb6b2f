"""How windows merge: nothing is lost, extremes stay extremes, gauges follow their rules."""

from __future__ import annotations

from hotloop.capture import schema
from hotloop.capture.window import (
    PhaseDelta,
    Window,
    largest_samples,
    merge_gauges,
    merged,
    same_part,
)


def window(number: int, **parts: object) -> Window:
    return Window(number, number, number * 100, (number + 1) * 100, **parts)  # type: ignore[arg-type]


def test_a_node_adds_up_and_keeps_its_extremes() -> None:
    delta = PhaseDelta()
    delta.add(PhaseDelta(2, 10, 20, 4, 16, 100, 5, 50, {1: 2}))
    delta.add(PhaseDelta(1, 3, 3, 3, 3, 80, 60, 70, {1: 1, 2: 1}))
    delta.add(PhaseDelta(0, 7, 7))  # still open: no call ended, so no minimum
    assert delta == PhaseDelta(3, 20, 30, 3, 16, 100, 5, 70, {1: 3, 2: 1})


def test_windows_merge_in_order() -> None:
    first = window(
        4, phases={"learn": PhaseDelta(1, 5, 5)}, counters={"env_steps": 3},
        samples={("learn", 1, 0): [2, 20]}, loop_last_ns=450,
    )  # fmt: skip
    second = window(
        5, phases={"learn": PhaseDelta(1, 7, 7), "log": PhaseDelta(1, 1, 1)},
        counters={"env_steps": 4}, samples={("learn", 1, 0): [1, 10], ("log", 2, 0): [1, 5]},
    )  # fmt: skip
    both = merged([first, second])
    assert both is not None
    assert (both.first, both.last, both.begin_ns, both.end_ns) == (4, 5, 400, 600)
    assert both.counters == {"env_steps": 7}
    assert (both.phases["learn"].self_ns, both.phases["log"].calls) == (12, 1)
    assert both.samples == {("learn", 1, 0): [3, 30], ("log", 2, 0): [1, 5]}
    assert both.loop_last_ns == 450
    # What was merged stays as it was.
    assert first.counters == {"env_steps": 3}
    assert first.phases["learn"].self_ns == 5


def test_no_windows_are_none() -> None:
    assert merged([]) is None


def test_gauges_follow_the_rules_of_the_schema() -> None:
    earlier = {schema.RESIDENT: 5.0, schema.RESIDENT_PEAK: 9.0, schema.HOOKS_NS: 2.0}
    merge_gauges(earlier, {schema.RESIDENT: 4.0, schema.RESIDENT_PEAK: 7.0, schema.HOOKS_NS: 3.0})
    assert earlier == {schema.RESIDENT: 4.0, schema.RESIDENT_PEAK: 9.0, schema.HOOKS_NS: 5.0}
    merge_gauges(earlier, {schema.ENVS: 8.0})
    assert earlier[schema.ENVS] == 8.0


def test_parts_of_the_run_are_not_mixed() -> None:
    before, inside, after = window(0), window(1, loop_last_ns=150), window(2, loop_last_ns=150)
    assert same_part(before, window(3))
    assert same_part(inside, window(1, loop_last_ns=180))
    assert not same_part(before, inside)
    assert not same_part(inside, after)


def test_the_largest_samples_stay_and_the_rest_keeps_its_phase() -> None:
    samples = {("a", 1, 0): [1, 10], ("a", 2, 0): [1, 5], ("b", 3, 1): [1, 90], ("a", 4, 0): [2, 7]}
    kept = largest_samples(samples, 2)
    assert kept == {("b", 3, 1): [1, 90], ("a", 1, 0): [1, 10], ("a", 0, 0): [3, 12]}
    assert largest_samples(samples, 4) is samples
    assert sum(ns for _, ns in kept.values()) == sum(ns for _, ns in samples.values())
