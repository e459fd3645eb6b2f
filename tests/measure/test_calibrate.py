"""The overhead of an empty region, as it is removed from every figure."""

from __future__ import annotations

from hotloop.capture.values import MOST_REGION_COST_NS
from hotloop.measure.calibrate import measure_cost


def test_both_parts_are_measured_and_plausible() -> None:
    cost = measure_cost()
    assert cost.inner_ns > 0.0
    assert cost.outer_ns >= 0.0
    assert cost.total_ns < MOST_REGION_COST_NS
