"""The weighted score of a phase, and the marks that say what is notable about it.

The weights are a convention, not a measurement: 40% share of time,
30% time per call, 15% memory, 15% device memory.
"""

from __future__ import annotations

from hotloop.analyze.model import Phase

WEIGHT_SHARE = 0.40
WEIGHT_PER_CALL = 0.30
WEIGHT_CPU_MEMORY = 0.15
WEIGHT_GPU_MEMORY = 0.15

#: Above these a phase is marked; at these a part of the score is full.
CRITICAL_SHARE = 0.30
SLOW_SECONDS = 0.100
MEMORY_MB = 100.0


def add_score(phase: Phase) -> None:
    """Score a phase from 0 to 100, and mark anything unusual."""
    added_mb = phase.cpu_added_mb or 0.0
    gpu_mb = phase.gpu_peak_mb or 0.0
    phase.score = 100 * (
        WEIGHT_SHARE * min(phase.share, 1.0)
        + WEIGHT_PER_CALL * min(phase.mean_s / SLOW_SECONDS, 1.0)
        + WEIGHT_CPU_MEMORY * min(added_mb / MEMORY_MB, 1.0)
        + WEIGHT_GPU_MEMORY * min(gpu_mb / MEMORY_MB, 1.0)
    )
    phase.marks = [
        mark
        for mark, holds in (
            ("CRITICAL", phase.share > CRITICAL_SHARE),
            ("SLOW", phase.mean_s > SLOW_SECONDS),
            ("MEMORY", added_mb > MEMORY_MB),
            ("GPU MEMORY", gpu_mb > MEMORY_MB),
        )
        if holds
    ]
