"""Declaring counters and gauges, and merging gauges by what was declared."""

from __future__ import annotations

import pytest

from hotloop.capture import metrics
from hotloop.capture.merge_rules import MAX, SUM


@pytest.fixture(autouse=True)
def tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of this test alone."""
    monkeypatch.setattr(metrics, "COUNTERS", {})
    monkeypatch.setattr(metrics, "GAUGES", {})


def test_a_declared_name_is_its_own_key() -> None:
    assert metrics.declare_counter("laps", "laps", "rounds of the track") == "laps"
    assert metrics.declare_gauge("heat", "K", "warmest tyre", MAX) == "heat"
    assert metrics.COUNTERS["laps"].rule is SUM
    assert metrics.GAUGES["heat"].unit == "K"


def test_gauges_merge_as_declared_and_the_last_value_counts_otherwise() -> None:
    metrics.declare_gauge("heat", "K", "warmest tyre", MAX)
    metrics.declare_gauge("fuel", "l", "what is left")
    assert metrics.merge_gauge("heat", 400.0, 380.0) == 400.0
    assert metrics.merge_gauge("fuel", 40.0, 38.0) == 38.0
    assert metrics.merge_gauge("of a newer version", 2.0, 1.0) == 1.0
