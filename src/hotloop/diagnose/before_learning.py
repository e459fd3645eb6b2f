"""Findings of a run that ended before learning began: its shares are not those of training."""

from __future__ import annotations

from hotloop.analyze.kind import is_warm_up
from hotloop.analyze.model import Analysis
from hotloop.diagnose.finding import LOW, Finding

#: Causes relative to the rest of the loop: without updates, stepping and acting are all of it.
REST_ON_THE_WHOLE = frozenset({"env-bound", "single-env", "too-few-envs", "serial-heavy-env"})


def judged_early(analysis: Analysis, findings: list[Finding]) -> list[Finding]:
    """The findings that still hold once learning begins, whose time is not known yet."""
    if not is_warm_up(analysis):
        return findings
    kept = [each for each in findings if each.id not in REST_ON_THE_WHOLE]
    for each in kept:
        each.confidence = LOW
    return kept
