"""Pure functions from an analysis to findings: what is slow, why, what to change.

One file a family of causes; each defines `RULES`, functions from an analysis to findings.
`FAMILIES` lists them and `diagnose` runs them; `evidence` is what they share, `ranking` decides
what is shown and `verdict` says the whole in one sentence. Nothing here reads a file or prints.
"""

from __future__ import annotations

from collections.abc import Callable

from hotloop.analyze.model import Analysis
from hotloop.diagnose import (
    autograd,
    data,
    device,
    drawing,
    environment,
    episodes,
    framework,
    loading,
    loop,
    processes,
    threads,
    vectors,
)
from hotloop.diagnose.finding import Finding, Rule
from hotloop.diagnose.ranking import rank
from hotloop.diagnose.verdict import too_short

#: Every family of rules: each gives the findings of all its rules.
FAMILIES: tuple[Callable[[Analysis], list[Finding]], ...] = (
    environment.rules,
    drawing.rules,
    episodes.rules,
    vectors.rules,
    processes.rules,
    data.rules,
    loading.rules,
    loop.rules,
    threads.rules,
    device.rules,
    framework.rules,
    autograd.rules,
)

__all__ = ["FAMILIES", "Finding", "Rule", "diagnose"]


def diagnose(analysis: Analysis) -> list[Finding]:
    """The findings of every rule, those with the largest gain first."""
    if too_short(analysis):
        return []
    return rank([finding for family in FAMILIES for finding in family(analysis)])
