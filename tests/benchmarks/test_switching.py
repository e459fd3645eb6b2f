"""Intervals with and without measuring are separated and compared."""

from __future__ import annotations

import random
from typing import Any

import pytest

from benchmarks import switching
from benchmarks.switching import MEASURING, RESTING, ROUND, STEPS, Switch, middle, ratios

COST = {"": 1.0, "off": 1.0, RESTING: 1.01, MEASURING: 1.1}


def test_each_stretch_is_of_one_kind(monkeypatch: Any) -> None:
    now = [0.0]
    for clock in ("perf_counter", "thread_time"):
        monkeypatch.setattr(switching.time, clock, lambda: now[0])
    kinds = [""]
    switch = Switch(kinds.append, seconds=10_000.0)
    while len(switch.stretches) < 2 * len(ROUND):
        now[0] += COST[kinds[-1]]
        assert switch.stepped()
    assert [kind for kind, _ in switch.stretches] == [*ROUND, *ROUND]
    assert ratios(switch.stretches, MEASURING) == [pytest.approx(1.1)] * 2
    assert ratios(switch.stretches, RESTING) == [pytest.approx(1.01)] * 2
    now[0] = 20_000.0
    assert not all(switch.stepped() for _ in range(STEPS))


def test_the_stretch_after_a_switch_is_not_counted(monkeypatch: Any) -> None:
    now = [0.0]
    for clock in ("perf_counter", "thread_time"):
        monkeypatch.setattr(switching.time, clock, lambda: now[0])
    switched: list[float] = []
    switch = Switch(lambda kind: switched.append(now[0]), seconds=10_000.0)
    while len(switch.stretches) < len(ROUND):
        now[0] += 9.0 if switched and now[0] < switched[-1] + 9 * STEPS else 1.0
        assert switch.stepped()
    assert {seconds for _, seconds in switch.stretches} == {float(STEPS)}


def test_a_slow_change_of_the_machine_cancels_out() -> None:
    stretches = [(kind, 1.0 + 0.01 * i) for i, kind in enumerate(ROUND * 5)]
    for kind in (RESTING, MEASURING):
        assert ratios(stretches, kind) == [pytest.approx(1.0)] * 5


def test_the_middle_is_what_most_say() -> None:
    draw = random.Random(0)
    values = [1.02 + draw.gauss(0, 0.01) for _ in range(400)]
    values[::50] = [9.0] * 8
    ratio, error = middle(values)
    assert abs(ratio - 1.02) < 4 * error
    assert error < 0.001
