"""Pure functions from an analysis to findings: what is slow, why, what to change.

One file per family of causes; each defines `RULES`, functions from an analysis to findings.
`FAMILIES` lists them and `diagnose` runs them; `evidence` is what they share, `ranking` decides
what is shown and `verdict` sums it up in one sentence. Nothing here reads a file or prints. Uses
`analyze`; knows nothing about `measure`, `hooks` or how a report looks.
"""

from __future__ import annotations

from hotloop.analyze.model import Analysis
from hotloop.diagnose import (
    accelerators,
    across,
    advantages,
    autograd,
    awaited_threads,
    compiling,
    copies,
    cpu_threads,
    data,
    dispatch,
    environment,
    episodes,
    framework,
    language_models,
    loaders,
    loading,
    loop,
    processes,
    python_loops,
    recording,
    rendering,
    search,
    step_parts,
    updates,
    vectors,
)
from hotloop.diagnose.finding import Finding, Rule
from hotloop.diagnose.proven import apply_proof, is_refuted
from hotloop.diagnose.quiet import lower_confidence
from hotloop.diagnose.ranking import rank
from hotloop.diagnose.verdict import too_short

#: Every family of rules.
FAMILIES: tuple[tuple[Rule, ...], ...] = (
    environment.RULES,
    rendering.RULES,
    episodes.RULES,
    vectors.RULES,
    processes.RULES,
    (across.rules,),  # none of them where there is one process
    awaited_threads.RULES,
    data.RULES,
    advantages.RULES,
    loaders.RULES,
    loading.RULES,
    loop.RULES,
    recording.RULES,
    cpu_threads.RULES,
    accelerators.RULES,
    copies.RULES,
    framework.RULES,
    compiling.RULES,
    dispatch.RULES,
    autograd.RULES,
    updates.RULES,
    step_parts.RULES,
    python_loops.RULES,
    language_models.RULES,
    search.RULES,
)

__all__ = ["FAMILIES", "Finding", "Rule", "diagnose"]


def diagnose(analysis: Analysis) -> list[Finding]:
    """The findings of every rule, those with the largest gain first."""
    if too_short(analysis):
        return []
    found = [each for family in FAMILIES for rule in family for each in rule(analysis)]
    found = apply_proof(lower_confidence(analysis, found), analysis.proof)
    # What was refuted explains nothing, but is shown with its numbers.
    refuted = [each for each in found if is_refuted(each)]
    return rank([each for each in found if not is_refuted(each)]) + refuted
