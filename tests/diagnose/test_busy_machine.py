"""Findings are less certain where other programs took the cores."""

from __future__ import annotations

import pytest
from analyses import Make, phase, window
from findings_made import found

from hotloop.diagnose.busy_machine import lower_confidence, no_louder_than_sure


@pytest.mark.parametrize(("waited", "confidence"), [(0.0, "high"), (0.05, "high"), (0.5, "medium")])
def test_a_core_that_others_took(make: Make, waited: float, confidence: str) -> None:
    windows = [window(i, {}, gauges={"main_delay_s": waited * i}) for i in range(1, 11)]
    analysis = make(phase("env.step", 9.0), windows=windows)
    given = [found("pandas-in-step"), found("growing-step-cost")]
    quiet = confidence == "high"
    lowered = lower_confidence(analysis, given)
    assert [each.confidence for each in lowered] == [confidence, "high" if quiet else "low"]


def test_what_is_not_sure_is_no_alarm() -> None:
    sure, unsure = found("logging", confidence="medium"), found("logging", confidence="low")
    sure.severity = unsure.severity = "critical"
    assert [each.severity for each in no_louder_than_sure([sure, unsure])] == [
        "critical",
        "warning",
    ]
