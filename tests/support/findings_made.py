"""Findings made by hand."""

from __future__ import annotations

from typing import Any

from hotloop.diagnose.evidence import severity_of
from hotloop.diagnose.finding import HIGH, Finding, Gain


def found(
    id: str, low: float = 1.2, high: float = 2.0, severity: str | None = None, **more: Any
) -> Finding:
    gain = Gain(low, high)
    given = {"title": f"{id}.", "phase": "learn", "confidence": HIGH, "fix": "", "verify": ""}
    return Finding(id, severity or severity_of(gain), gain=gain, **(given | more))
