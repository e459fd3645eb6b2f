"""Pure functions from an analysis to findings: what is slow, why, what to change.

`diagnose` runs the rules in `rules/`, one file per family of causes. `evidence` (time, calls,
samples, source lines) and `recorded` (notes of the run) have what rules share. Findings then pass
`before_learning`, `busy_machine`, `proven`, `ranking` and `overlaps`, and `verdict` sums them up in
one sentence.

Nothing here reads a file or prints. Uses `analyze`; knows nothing about `measure`, `hooks` or how
a report looks.
"""

from __future__ import annotations

from hotloop.analyze.model import Analysis
from hotloop.capture.strictness import is_strict
from hotloop.diagnose.before_learning import judged_early
from hotloop.diagnose.busy_machine import lower_confidence, no_louder_than_sure
from hotloop.diagnose.finding import Finding, Rule
from hotloop.diagnose.overlaps import say_overlaps
from hotloop.diagnose.proven import apply_proof, is_refuted
from hotloop.diagnose.ranking import rank
from hotloop.diagnose.rules import FAMILIES
from hotloop.diagnose.verdict import too_short

__all__ = ["FAMILIES", "Finding", "Rule", "diagnose"]


def diagnose(analysis: Analysis) -> list[Finding]:
    """The findings of every rule, those with the largest gain first."""
    if too_short(analysis):
        return []
    found = [each for family in FAMILIES for rule in family for each in _found_by(rule, analysis)]
    found = judged_early(analysis, lower_confidence(analysis, found))
    found = no_louder_than_sure(found)
    found = apply_proof(found, analysis.proof)
    # Refuted findings explain nothing but are shown with their numbers.
    refuted = [each for each in found if is_refuted(each)]
    shown = rank([each for each in found if not is_refuted(each)])
    return say_overlaps(analysis, shown) + refuted


def _found_by(rule: Rule, analysis: Analysis) -> list[Finding]:
    """The findings of a rule. If it fails, on a program unlike any before, others are kept."""
    try:
        return rule(analysis)
    except Exception as error:
        if is_strict():
            raise
        name = getattr(rule, "__name__", repr(rule))
        analysis.failed_rules[name] = f"{type(error).__name__}: {error}"
        return []
