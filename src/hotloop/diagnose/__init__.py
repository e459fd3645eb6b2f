"""Pure functions from an analysis to findings: what is slow, why, what to change.

A rule is a function from an analysis to its findings; `RULES` lists them and `diagnose` runs them.
`verdict` says the whole in one sentence. Nothing here reads a file or prints.
"""

from __future__ import annotations

from hotloop.analyze.model import Analysis
from hotloop.diagnose.finding import Finding, Rule

#: Every rule. None yet: the breakdown speaks for itself.
RULES: list[Rule] = []


def diagnose(analysis: Analysis) -> list[Finding]:
    """The findings of every rule, those with the largest gain first."""
    findings = [finding for rule in RULES for finding in rule(analysis)]
    return sorted(findings, key=lambda finding: -finding.gain.high)
