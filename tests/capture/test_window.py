"""How windows merge: nothing is lost, extremes stay, gauges follow their rules, samples thin out."""

from __future__ import annotations

import random

import pytest

from hotloop.capture import schema
from hotloop.capture.window import (
    PhaseDelta,
    Samples,
    Window,
    merge_gauges,
    merged,
    same_part,
    thinned_samples,
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


def rare_and_common(stacks: int = 1000) -> Samples:
    """Two stacks with half of the time, and many with one sample each."""
    chance = random.Random(0)
    samples: Samples = {("env.step", 1, 0): [300, 3000], ("env.step", 2, 1): [200, 2000]}
    for stack in range(10, 10 + stacks):
        samples["policy.act", stack, 0] = [1, chance.randrange(3, 8)]
    return samples


def times(samples: Samples) -> dict[tuple[str, int], list[int]]:
    """Count and time of every phase and mode."""
    totals: dict[tuple[str, int], list[int]] = {}
    for (path, _, mode), (count, ns) in samples.items():
        total = totals.setdefault((path, mode), [0, 0])
        total[0] += count
        total[1] += ns
    return totals


def test_few_samples_stay_as_they_are() -> None:
    samples = rare_and_common(10)
    assert thinned_samples(samples, 120, 0) is samples


@pytest.mark.parametrize("seed", range(3))
def test_phases_keep_their_time(seed: int) -> None:
    samples = rare_and_common()
    thinned = thinned_samples(samples, 120, seed)
    assert len(thinned) <= 121
    assert times(thinned) == times(samples)
    assert thinned["env.step", 1, 0] == [300, 3000]


def test_what_rare_stacks_have_in_common_is_not_lost() -> None:
    samples = rare_and_common()
    whole = sum(ns for (_, stack, _), (_, ns) in samples.items() if stack >= 10 and stack % 5 == 0)
    found = []
    for seed in range(100):
        thinned = thinned_samples(samples, 120, seed)
        found.append(sum(ns for (_, k, _), (_, ns) in thinned.items() if k >= 10 and k % 5 == 0))
    assert sum(found) / len(found) == pytest.approx(whole, rel=0.05)


def test_a_phase_of_which_no_stack_is_drawn_keeps_its_time_without_one() -> None:
    samples = rare_and_common()
    samples["log", 7, 0] = [1, 1]
    thinned = thinned_samples(samples, 40, 1)
    assert sum(ns for (path, _, _), (_, ns) in thinned.items() if path == "log") == 1
