"""What `hotloop prove` leaves beside a capture, and the result that counts for a finding."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hotloop.capture import proofs
from hotloop.capture.proofs import Proof, TriedFix, read_proof, write_proof


def tried(verdict: str, finding: str = "threads", fix: str = "one", **more: object) -> TriedFix:
    return TriedFix(finding, fix, verdict, **more)  # type: ignore[arg-type]


def proof(*fixes: TriedFix) -> Proof:
    return Proof("train.py", "/runs/proof", 60.0, tried=list(fixes))


def test_a_proof_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = proof(tried(proofs.CONFIRMED, gain=1.5, low=1.4, high=1.6, pairs=5))
    written.together = tried(proofs.CONFIRMED, finding="", gain=2.0)
    write_proof(tmp_path, written)
    assert read_proof(tmp_path) == written


def test_fields_of_a_later_version_are_ignored(tmp_path: Path) -> None:
    path = write_proof(tmp_path, proof(tried(proofs.REFUTED)))
    document = json.loads(path.read_text())
    document["tomorrow"] = document["tried"][0]["tomorrow"] = 1
    path.write_text(json.dumps(document))
    assert read_proof(tmp_path) == proof(tried(proofs.REFUTED))


@pytest.mark.parametrize(
    "content",
    ["", "[]", "null", '{"tried": []}', '{"tried": [{"verdict": "sure"}], "together": 0}'],
)
def test_what_cannot_be_read_is_no_proof(tmp_path: Path, content: str) -> None:
    assert read_proof(tmp_path) is None
    (tmp_path / proofs.NAME).write_text(content)
    assert read_proof(tmp_path) is None


def test_the_most_informative_result_counts() -> None:
    found = proof(tried(proofs.REFUTED), tried(proofs.CONFIRMED, fix="two")).of("threads")
    assert found is not None
    assert found.fix == "two"
    assert proof().of("threads") is None


def test_a_finding_is_refuted_only_if_every_fix_is() -> None:
    refuted = tried(proofs.REFUTED, why=proofs.NO_DIFFERENCE)
    both = proof(refuted, tried(proofs.REFUTED, fix="two")).of("threads")
    assert both is not None
    assert both.verdict == proofs.REFUTED
    left = proof(refuted, tried(proofs.NOT_TRIED, fix="two")).of("threads")
    assert left is not None
    assert left.verdict == proofs.UNCLEAR
    assert left.why == "it makes no difference, but two was not tried"
