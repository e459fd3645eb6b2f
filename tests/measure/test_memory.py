"""Resident memory: now, and the exact peak inside a region."""

from __future__ import annotations

import sys

import pytest

from hotloop import Profiler
from hotloop.measure.memory import MemoryPeaks, resident_bytes

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the exact peak needs Linux's /proc"
)


def test_the_peak_of_a_region_is_exact() -> None:
    profiler = Profiler()
    profiler.enable()
    before = resident_bytes()
    with profiler.profile("outer", track_memory=True):
        with profiler.profile("small", track_memory=True):
            pass
        with profiler.profile("big", track_memory=True):
            block = bytearray(200_000_000)
            del block
        after_big = resident_bytes()
    figures = {phase["path"]: phase for phase in profiler.report()["phases"]}
    # The block is gone again before the region ends: only a true high-water mark sees it.
    assert after_big - before < 50_000_000
    assert figures["outer/big"]["cpu_added_mb"] == pytest.approx(200, abs=5)
    assert figures["outer"]["cpu_added_mb"] == pytest.approx(200, abs=5)
    assert figures["outer/small"]["cpu_added_mb"] < 20
    assert "MEMORY" in figures["outer/big"]["marks"]


def test_peaks_of_one_name_keep_the_highest() -> None:
    peaks = MemoryPeaks()
    for size in (100_000_000, 1):
        peak = peaks.begin()
        block = bytearray(size)
        del block
        peaks.end("learn", peak)
    assert peaks.cpu_bytes["learn"][1] == pytest.approx(100_000_000, abs=5_000_000)
