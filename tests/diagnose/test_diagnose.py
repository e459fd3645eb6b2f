"""All rules together: one that fails costs its own findings only, and the report says so."""

from __future__ import annotations

import pytest
from analyses import Make, phase

from hotloop import diagnose as rules
from hotloop.analyze.model import Analysis
from hotloop.capture import strictness
from hotloop.diagnose.finding import Finding
from hotloop.report.document import remarks


def broken(analysis: Analysis) -> list[Finding]:
    raise KeyError(analysis.name)


@pytest.fixture
def analysis(make: Make, monkeypatch: pytest.MonkeyPatch) -> Analysis:
    monkeypatch.setattr(rules, "FAMILIES", ((broken,), *rules.FAMILIES))
    return make(phase("env.step", 8.0), env_steps=1000)


def test_a_rule_that_fails_costs_no_other_ones_findings(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(strictness.VARIABLE, "0")
    assert "env-bound" in [each.id for each in rules.diagnose(analysis)]
    (remark,) = [each for each in remarks(analysis) if "failed" in each]
    assert "`broken`" in remark
    assert "KeyError" in remark


def test_a_rule_that_fails_is_an_error_in_tests(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(strictness.VARIABLE, "1")
    with pytest.raises(KeyError):
        rules.diagnose(analysis)
