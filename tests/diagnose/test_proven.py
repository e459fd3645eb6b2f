"""Findings follow what was measured about them."""

from __future__ import annotations

from findings_made import found

from hotloop.capture.proofs import CEILING, CONFIRMED, REFUTED, UNCLEAR, Proof, TriedFix
from hotloop.diagnose.proven import apply_proof, is_refuted
from hotloop.diagnose.ranking import rank


def proof(*tried: TriedFix) -> Proof:
    return Proof("train.py", "runs", 300.0, tried=list(tried))


def test_severity_and_rank_follow_the_measured_gain() -> None:
    findings = [found("logging", 1.02, 1.04), found("evaluation", 1.2, 1.4)]
    measured = TriedFix("logging", "log less", CONFIRMED, 2.0, 1.9, 2.1, 4)
    proven = apply_proof(findings, proof(measured))
    assert proven[0].severity == "critical"
    assert proven[0].measured_gain == 2.0
    assert [each.id for each in rank(proven)] == ["logging", "evaluation"]


def test_a_refuted_finding_is_no_alarm() -> None:
    tried = TriedFix("logging", "log less", REFUTED, 1.0, 0.98, 1.02, 4, why="no difference")
    (finding,) = apply_proof([found("logging", 1.5, 2.0)], proof(tried))
    assert is_refuted(finding)
    assert finding.severity == "info"
    assert finding.worth == 0.0


def test_one_refuted_fix_of_two_leaves_the_finding_open() -> None:
    first = TriedFix("recompilation", "dynamic shapes", REFUTED, 1.0, 0.98, 1.02, 4)
    second = TriedFix("recompilation", "eager", UNCLEAR, 1.4, 0.9, 2.0, 4)
    (finding,) = apply_proof([found("recompilation", 1.5, 2.0)], proof(first, second))
    assert not is_refuted(finding)
    assert finding.measured_gain is None


def test_no_promise_is_above_a_measured_ceiling() -> None:
    tried = TriedFix("env-bound", "without env.step", CEILING, 1.2, 1.15, 1.25, 4)
    (finding,) = apply_proof([found("env-bound", 1.1, 3.0)], proof(tried))
    assert finding.ceiling == 1.2
    assert finding.gain.high == 1.2
