"""Findings with the gains that `hotloop prove` measured, which replace predicted ones."""

from __future__ import annotations

from dataclasses import replace

from hotloop.capture.proofs import CEILING, CONFIRMED, REFUTED, Proof, TriedFix
from hotloop.diagnose.evidence import severity_of
from hotloop.diagnose.finding import INFO, Finding, Gain


def apply_proof(findings: list[Finding], proof: Proof | None) -> list[Finding]:
    """The same findings with measured gains, which determine severity."""
    if proof is None:
        return findings
    return [
        _proven(finding, tried) if (tried := proof.of(finding.id)) else finding
        for finding in findings
    ]


def is_refuted(finding: Finding) -> bool:
    """Whether its fix was tried and refuted."""
    return finding.proof is not None and finding.proof.verdict == REFUTED


def _proven(finding: Finding, tried: TriedFix) -> Finding:
    finding = replace(finding, proof=tried)
    if tried.gain is None:
        return finding
    if tried.verdict == CONFIRMED:
        finding.measured_gain = tried.gain
        finding.severity = severity_of(Gain(tried.gain, tried.gain))
    elif tried.verdict == REFUTED:
        finding.measured_gain = tried.gain
        finding.severity = INFO
    elif tried.verdict == CEILING:
        finding.ceiling = max(tried.gain, 1.0)
        finding.gain = finding.gain.capped(finding.ceiling)
        finding.severity = severity_of(finding.gain)
    return finding
