"""Accounts for the whole loop: shares that add up to one."""

from __future__ import annotations

from dataclasses import dataclass

from hotloop.analyze.model import Analysis
from hotloop.analyze.sums import summed
from hotloop.capture.schema import GAP_NS
from hotloop.phases import PARENTS, is_unidentified

#: How `Phase.how` marks a phase that was deduced from the order of events around it.
INFERRED = "inferred"


@dataclass(frozen=True)
class Accounting:
    """Shares of the loop by how well the time is explained; they add up to one."""

    explained: float = 0.0
    inferred: float = 0.0
    unexplained: float = 0.0


def account(analysis: Analysis) -> Accounting:
    """Split the loop into explained, inferred and unexplained time."""
    loop_s = analysis.run.loop_s
    if loop_s <= 0:
        return Accounting()
    unexplained = min(max(analysis.unexplained, 0.0), 1.0)
    inferred = min(_inferred_s(analysis) / loop_s, 1.0 - unexplained)
    return Accounting(1.0 - unexplained - inferred, inferred, unexplained)


def _inferred_s(analysis: Analysis) -> float:
    phases = analysis.training_phases
    gaps_ns = [w.counters[GAP_NS] for w in analysis.loop_windows if GAP_NS in w.counters]
    if gaps_ns:
        # Gaps that were given a phase; a phase may also have calls, which are explained.
        nowhere_s = sum(p.loop_self_s for p in phases if is_unidentified(p.name))
        return max(sum(gaps_ns) / 1e9 - nowhere_s, 0.0)
    # A parent's own time is unexplained, however the parent was named.
    inferred = (p for p in phases if p.how == INFERRED and p.name not in PARENTS)
    return sum(phase.loop_self_s for phase in inferred)


@dataclass(frozen=True)
class Unidentified:
    """Code between two events of the loop that nothing identifies."""

    name: str
    share: float
    #: As `file:first-last function`.
    lines: list[str]


def unidentified(analysis: Analysis, least_share: float = 0.0) -> list[Unidentified]:
    """The gaps of the loop that have no phase, the largest first."""
    shares = summed(
        (phase.name, analysis.run.share(phase.loop_self_s))
        for phase in analysis.training_phases
        if is_unidentified(phase.name)
    )
    return [
        Unidentified(name, share, analysis.notes.gap_lines.get(name, []))
        for name, share in sorted(shares.items(), key=lambda item: -item[1])
        if share >= least_share
    ]


def categories(analysis: Analysis) -> dict[str, float]:
    """Category -> share of the loop that is its phases' own time, the largest first."""
    totals = summed((phase.category, phase.loop_self_s) for phase in analysis.training_phases)
    ordered = sorted(totals.items(), key=lambda item: -item[1])
    return {name: analysis.run.share(total) for name, total in ordered}


def phase_categories(analysis: Analysis) -> dict[str, str]:
    """Phase -> category, of all that the process that trains did before, in and after the loop."""
    everywhere = (*analysis.startup, *analysis.after, *analysis.phases)
    return {phase.name: phase.category for phase in everywhere if phase.process == "main"}


def outside_share(analysis: Analysis) -> float:
    """Share of the loop in no phase at all."""
    return analysis.run.share(analysis.outside_s)
