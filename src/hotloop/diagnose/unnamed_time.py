"""Time in no named phase, and how much of it the findings explain."""

from __future__ import annotations

from hotloop.analyze.kind import span_of
from hotloop.analyze.model import Analysis
from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import of_loop, seconds_in
from hotloop.diagnose.finding import HEALTHY, Finding
from hotloop.phases import NO_PHASE, PARENTS, is_unidentified

#: From this share on, time in no named phase is mentioned.
MUCH = 0.05


def unnamed_time(analysis: Analysis, findings: list[Finding]) -> str:
    """A sentence on the time in no named phase; empty if there is little."""
    unnamed = analysis.unexplained
    if not analysis.phases or unnamed < MUCH:
        return ""
    of = span_of(analysis)
    known = explained(analysis, findings)
    below = ": the functions below show where it went." if analysis.functions else "."
    if known < MUCH:
        return f"{unnamed:.0%} of the {of} is unexplained{below}"
    in_none = f"{unnamed:.0%} of the {of} is in no named phase"
    if unnamed - known < MUCH:
        return f"{in_none}; the findings explain it."
    return f"{in_none}; the findings explain all but {unnamed - known:.0%}{below}"


def explained(analysis: Analysis, findings: list[Finding]) -> float:
    """The share of the loop that is in no named phase and that a finding explains."""
    share, seen = 0.0, set[SourceLine]()
    for finding in findings:
        # Two findings on one line are about the same time.
        if finding.severity == HEALTHY or seen & set(finding.where):
            continue
        seen |= set(finding.where)
        about = float(finding.evidence.get("share_of_loop") or 0.0)
        if finding.phase in PARENTS:
            about = min(about, of_loop(analysis, _own_time(analysis, finding.phase)))
        elif not _is_unnamed(finding.phase):
            about -= of_loop(analysis, seconds_in(analysis, finding.phase))
        share += max(about, 0.0)
    return min(share, analysis.unexplained)


def _is_unnamed(phase: str) -> bool:
    return phase == NO_PHASE or is_unidentified(phase)


def _own_time(analysis: Analysis, parent: str) -> float:
    """Seconds in a parent outside all phases inside it."""
    return sum(p.loop_self_s for p in analysis.training_phases if p.name == parent)
