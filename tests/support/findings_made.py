"""Findings made by hand."""

from __future__ import annotations

from hotloop.diagnose.evidence import (
    severity_of,
)
from hotloop.diagnose.finding import Finding, Gain


def found(id: str, low: float, high: float, severity: str | None = None) -> Finding:
    gain = Gain(low, high)
    return Finding(id, severity or severity_of(gain), f"{id}.", "learn", gain, "high", "", "")
