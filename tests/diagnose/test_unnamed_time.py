"""Time in no named phase, and what of it the findings explain."""

from __future__ import annotations

import pytest
from analyses import Make, phase
from findings_made import found

from hotloop.capture.schema import SourceLine
from hotloop.diagnose.finding import Finding
from hotloop.diagnose.unnamed_time import explained, unnamed_time

GAP = "between optimizer and act"


def about(phase: str, share: float, line: int = 1) -> Finding:
    where = [SourceLine("train.py", line, "train")]
    return found("x", phase=phase, where=where, evidence={"share_of_loop": share})


@pytest.mark.parametrize(
    ("findings", "said"),
    [
        ([], "57% of the loop is unexplained."),
        ([about("env.step", 0.3)], "57% of the loop is unexplained."),
        ([about(GAP, 0.55)], "57% of the loop is in no named phase; the findings explain it."),
        (
            [about(GAP, 0.4), about(GAP, 0.4)],
            "57% of the loop is in no named phase; the findings explain all but 17%.",
        ),
    ],
)
def test_what_a_finding_explains_is_not_called_unexplained(
    make: Make, findings: list[Finding], said: str
) -> None:
    analysis = make(phase("env.step", 4.3), phase(GAP, 5.5), env_steps=5000)
    analysis.unexplained = 0.57
    assert unnamed_time(analysis, findings) == said


def test_a_finding_larger_than_its_phase_explains_time_outside_it(make: Make) -> None:
    analysis = make(phase("env.step", 2.0), env_steps=5000)
    analysis.unexplained = 0.8
    assert explained(analysis, [about("env.step", 0.5)]) == pytest.approx(0.3)
