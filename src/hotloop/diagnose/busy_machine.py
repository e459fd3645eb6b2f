"""Findings on a busy machine: times are less certain while other programs use the CPU."""

from __future__ import annotations

from hotloop.analyze.model import Analysis
from hotloop.analyze.processes.contention import cores_used
from hotloop.capture import schema
from hotloop.diagnose.finding import CRITICAL, HIGH, LOW, MEDIUM, WARNING, Finding
from hotloop.diagnose.recorded import gauge_rise

#: If the share of waiting for a CPU core exceeds this, other programs distort all times.
BUSY_MACHINE = 0.1
#: A run that uses this share of the cores waits for itself.
OWN_DOING = 0.75
#: These compare times of different moments or of different processes. Other programs come and go,
#: and slow down whatever runs at the same time.
NEED_QUIET = frozenset(
    ("growing-step-cost", "buffer-cost-grows", "denormals", "stragglers", "slow-rank")
)
_LOWER = {HIGH: MEDIUM, MEDIUM: LOW, LOW: LOW}


def cpu_wait_share(analysis: Analysis) -> float | None:
    """Share of the loop in which the main thread was ready to run and had no CPU core.

    From the samples, as in what limits the loop; without them from the scheduler's count, which is
    read once a window.
    """
    waited = gauge_rise(analysis, schema.MAIN_DELAY_S)
    if waited is None or analysis.run.loop_s <= 0:
        return None
    # The Python twin's samples do not know of it, so nothing there is no evidence.
    if analysis.bound is not None and analysis.functions and analysis.bound.cores > 0:
        return analysis.bound.cores
    return min(max(waited / analysis.run.loop_s, 0.0), 1.0)


def keeps_cores_busy(analysis: Analysis) -> bool | None:
    """Whether the run itself uses most of the cores; None if unknown."""
    own, cores = cores_used(analysis), analysis.notes.machine.cores
    return own >= OWN_DOING * cores if own is not None and cores else None


def lower_confidence(analysis: Analysis, findings: list[Finding]) -> list[Finding]:
    """The same findings, less certain if other programs took the cores."""
    busy = (cpu_wait_share(analysis) or 0.0) > BUSY_MACHINE
    if busy and not keeps_cores_busy(analysis):
        for each in findings:
            each.confidence = LOW if each.id in NEED_QUIET else _LOWER[each.confidence]
    return findings


def no_louder_than_sure(findings: list[Finding]) -> list[Finding]:
    """The same findings; an uncertain cause is worth a try but does not raise an alarm."""
    for each in findings:
        if each.severity == CRITICAL and each.confidence == LOW:
            each.severity = WARNING
    return findings
