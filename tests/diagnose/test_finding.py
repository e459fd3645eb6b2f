"""What a finding must hold."""

from __future__ import annotations

import pytest
from analyses import Make, phase

from hotloop.diagnose.evidence import (
    finding,
)


def test_a_finding_has_all_that_people_need(make: Make) -> None:
    analysis = make(phase("log", 5.0), env_steps=1000)
    each = finding(
        analysis, "logging", title="t", phase="log", seconds=5.0, saves=(0.8, 0.9),
        fix="f", confidence="high",
    )  # fmt: skip
    assert each.severity == "critical"
    assert each.evidence["share_of_loop"] == pytest.approx(0.5)
    assert each.verify.startswith("hotloop compare ")
