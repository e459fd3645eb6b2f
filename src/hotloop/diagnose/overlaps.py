"""Marks findings that count the same time: their gains do not multiply."""

from __future__ import annotations

from hotloop.analyze.model import Analysis
from hotloop.diagnose.evidence import share_of
from hotloop.diagnose.finding import Finding
from hotloop.phases import names_of

#: Shares are accurate to a few hundredths: sums larger by less than this prove nothing.
SLACK = 0.05


def say_overlaps(analysis: Analysis, findings: list[Finding]) -> list[Finding]:
    """The same findings; one that counts the same time as an earlier one names it."""
    problems = [each for each in findings if each.is_problem]
    for i, later in enumerate(problems):
        same = [each.id for each in problems[:i] if _overlap(analysis, each, later)]
        if same:
            later.fix += (
                f" Part of this time also counts towards `{same[0]}`. Make that change first "
                "and measure again: the two gains do not multiply."
            )
    return findings


def _overlap(analysis: Analysis, one: Finding, other: Finding) -> bool:
    """Whether two findings certainly count some of the same time."""
    both = _share(one) + _share(other)
    if both > 1 + SLACK or set(one.where) & set(other.where):
        return True
    outer = _around_both(analysis, one.phase, other.phase)
    if not outer:
        return False
    there = share_of(analysis, outer)
    # A phase with less than either of them does not hold them.
    return max(_share(one), _share(other)) <= there + SLACK and both > there + SLACK


def _share(finding: Finding) -> float:
    return float(finding.evidence.get("share_of_loop") or 0.0)


def _around_both(analysis: Analysis, one: str, other: str) -> str:
    """The one of two phases that the other one is or lies in; empty if neither does."""
    if not one or not other:
        return ""
    if one == other:
        return one
    for phase in analysis.training_phases:
        names = names_of(phase.path)
        if names and names[-1] == one and other in names:
            return other
        if names and names[-1] == other and one in names:
            return one
    return ""
