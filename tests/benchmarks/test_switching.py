"""Intervals with and without measuring are separated and compared."""

from __future__ import annotations

import random
from typing import Any

import pytest

from benchmarks import switching
from benchmarks.switching import ON_OFF, STEPS, Switch, middle, ratios


class Switched:
    def __init__(self) -> None:
        self.calls: list[bool] = []

    def enable(self) -> None:
        self.calls.append(True)

    def disable(self) -> None:
        self.calls.append(False)


def test_each_stretch_is_of_one_kind(monkeypatch: Any) -> None:
    now = [0.0]
    monkeypatch.setattr(switching.time, "perf_counter", lambda: now[0])
    switched = Switched()
    switch = Switch(switched, seconds=1000.0)
    for _ in range(9 * STEPS):
        now[0] += 1.1 if switched.calls and switched.calls[-1] else 1.0
        assert switch.stepped()
    assert switched.calls == [*ON_OFF, *ON_OFF, True]
    assert [on for on, _ in switch.stretches] == [*ON_OFF, *ON_OFF]
    assert ratios(switch.stretches) == [pytest.approx(1.1)] * 2
    now[0] = 2000.0
    assert not all(switch.stepped() for _ in range(STEPS))


def test_a_slow_change_of_the_machine_cancels_out() -> None:
    stretches = [(on, 1.0 + 0.01 * i) for i, on in enumerate(ON_OFF * 5)]
    assert ratios(stretches) == [pytest.approx(1.0)] * 5


def test_the_middle_is_what_most_say() -> None:
    draw = random.Random(0)
    values = [1.02 + draw.gauss(0, 0.01) for _ in range(400)]
    values[::50] = [9.0] * 8
    ratio, error = middle(values)
    assert abs(ratio - 1.02) < 4 * error
    assert error < 0.001
