"""Windows: how their samples are thinned when many become one."""

from __future__ import annotations

import random

import pytest

from hotloop.capture.window import Samples, thinned_samples


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
