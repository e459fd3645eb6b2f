"""Calibrates the overhead of a region, so that it can be removed from every figure."""

from __future__ import annotations

import time

from hotloop.capture.values import RegionCost
from hotloop.measure.core import NATIVE, Core

#: Enough to be steady, few enough to take a few milliseconds.
_REGIONS = 1000 if NATIVE else 300
_ROUNDS = 7


def measure_cost() -> RegionCost:
    """The minimum of a few rounds: the cost without other load on the machine."""
    core = Core()
    core.enable()
    best: RegionCost | None = None
    for _ in range(_ROUNDS):
        inside, total = _round(core)
        if best is None or total < best.total_ns:
            best = RegionCost(inside, max(total - inside, 0.0))
    assert best is not None
    return best


def _round(core: Core) -> tuple[float, float]:
    clock = time.perf_counter_ns
    profile = core.profile
    repeat = [None] * _REGIONS
    begin = clock()
    for _ in repeat:
        pass
    middle = clock()
    for _ in repeat:
        with profile("calibration"):
            pass
    end = clock()
    _, rows, _, _ = core.snapshot()
    inside = sum(row[3] for row in rows if row[1]) / _REGIONS
    return inside, ((end - middle) - (middle - begin)) / _REGIONS
