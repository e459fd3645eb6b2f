"""What `hotloop prove` measured about a capture, in a file beside its shards."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from hotloop.capture import private

SCHEMA = "hotloop.proof/1"
NAME = "proof.json"

#: Verdict on a fix. `unsafe`: faster, but it changes what is learned although it must not.
#: `ceiling`: no fix could be tried; the loop was measured without the cost of the phase instead.
VERDICTS = (
    CONFIRMED,
    UNCLEAR,
    REFUTED,
    UNSAFE,
    CEILING,
    FAILED,
    NOT_TRIED,
) = ("confirmed", "unclear", "refuted", "unsafe", "ceiling", "failed", "not tried")

#: Why a fix was refuted.
IS_SLOWER, NO_DIFFERENCE = "it is slower", "it makes no difference"


@dataclass(frozen=True)
class TriedFix:
    """One fix of one finding, and what was measured."""

    #: The id of the finding; empty for all confirmed fixes together.
    finding: str
    #: The change, as short as it can be written: `OMP_NUM_THREADS=1`.
    fix: str
    verdict: str
    #: Steps per second with the fix over steps per second without, with its interval.
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    pairs: int = 0
    #: The weights of both sides after equal steps: "same weights", "same to rounding", "differ".
    weights: str = ""
    #: The median of the runs' mean returns, without and with the fix.
    return_before: float | None = None
    return_after: float | None = None
    #: The declared effect of the change on learning; empty if none.
    learning: str = ""
    #: Why it was refuted, failed or was not tried; empty otherwise.
    why: str = ""
    #: How to make the change: options, variables, or a patch of the program's own lines.
    how: str = ""
    diff: str = ""


@dataclass
class Proof:
    """All that `prove` tried on one capture."""

    command: str
    #: The folder of its runs.
    folder: str
    budget_s: float
    spent_s: float = 0.0
    stop_after: str | None = None
    tried: list[TriedFix] = field(default_factory=list)
    together: TriedFix | None = None
    interrupted: bool = False

    def of(self, finding: str) -> TriedFix | None:
        """The most informative result for a finding: refuted only if all of its fixes are."""
        own = [each for each in self.tried if each.finding == finding]
        best = min(own, key=lambda each: VERDICTS.index(each.verdict), default=None)
        left = next((each for each in own if each.verdict in (FAILED, NOT_TRIED)), None)
        if best is None or best.verdict != REFUTED or left is None:
            return best
        what = "failed" if left.verdict == FAILED else "was not tried"
        return replace(best, verdict=UNCLEAR, why=f"{best.why}, but {left.fix} {what}")

    def document(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **asdict(self)}


def write_proof(folder: Path, proof: Proof) -> Path:
    """Keep a proof in the folder of the capture that it is about."""
    path = folder / NAME
    private.write_text(path, json.dumps(proof.document(), indent=1) + "\n")
    return path


def read_proof(folder: Path) -> Proof | None:
    """The proof in a capture's folder; None if there is no readable one."""
    try:
        document = json.loads((folder / NAME).read_text(encoding="utf-8"))
        proof = Proof(**_known(Proof, document))
        proof.tried = [_tried(each) for each in document["tried"]]
        proof.together = _tried(document["together"]) if document["together"] else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return proof


def _tried(document: dict[str, Any]) -> TriedFix:
    tried = TriedFix(**_known(TriedFix, document))
    if tried.verdict not in VERDICTS:
        raise ValueError(tried.verdict)
    return tried


def _known(kind: type, document: dict[str, Any]) -> dict[str, Any]:
    names = {each.name for each in fields(kind)}
    return {name: value for name, value in document.items() if name in names}
