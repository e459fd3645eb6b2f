"""Gauges over windows, some of which lack them."""

from __future__ import annotations

from hotloop.analyze.over_time import gauges
from hotloop.capture.window import Window

WINDOWS = [
    Window(0, 0, 0, 1_000_000_000, gauges={"resident": 4e6}),
    Window(1, 1, 1_000_000_000, 2_000_000_000),
    Window(2, 2, 2_000_000_000, 5_000_000_000, gauges={"resident": 2e6}),
]


def test_windows_without_a_gauge_are_left_out() -> None:
    assert gauges.values_of(WINDOWS, "resident") == [4e6, 2e6]
    assert gauges.last(WINDOWS, "resident") == 2e6
    assert gauges.megabytes(gauges.largest(WINDOWS, "resident")) == 4.0


def test_a_mean_is_over_time() -> None:
    assert gauges.mean(WINDOWS, "resident") == 2.5e6


def test_what_was_not_recorded_is_not_known() -> None:
    for find in (gauges.last, gauges.largest, gauges.mean):
        assert find(WINDOWS, "gpu_memory") is None
    assert gauges.total_s(WINDOWS, "hooks_ns") == 0.0
    assert gauges.megabytes(None) is None
