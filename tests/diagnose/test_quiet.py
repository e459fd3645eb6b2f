"""Findings are less certain where other programs took the cores."""

from __future__ import annotations

import pytest
from analyses import Make, phase, window

from hotloop.diagnose.finding import Finding, Gain
from hotloop.diagnose.quiet import lower_confidence


def found(id: str, confidence: str) -> Finding:
    return Finding(id, "warning", "title", "env.step", Gain(1.2, 2.0), confidence, "", "")


@pytest.mark.parametrize(("waited", "confidence"), [(0.0, "high"), (0.05, "high"), (0.5, "medium")])
def test_a_core_that_others_took(make: Make, waited: float, confidence: str) -> None:
    windows = [window(i, {}, gauges={"main_delay_s": waited * i}) for i in range(1, 11)]
    analysis = make(phase("env.step", 9.0), windows=windows)
    given = [found("pandas-in-step", "high"), found("growing-step-cost", "high")]
    quiet = confidence == "high"
    lowered = lower_confidence(analysis, given)
    assert [each.confidence for each in lowered] == [confidence, "high" if quiet else "low"]
