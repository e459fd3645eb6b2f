"""Plans that are drafted from a capture can be read and run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hotloop.analyze.analysis import analyze
from hotloop.analyze.processes.training import read_capture
from hotloop.diagnose.finding import Finding, Gain
from hotloop.experiment.draft import draft_plan
from hotloop.experiment.plan import Plan, read_plan

pytest.importorskip("tomllib", reason="Python 3.10 needs tomli")


def finding(verify: str) -> Finding:
    return Finding(
        id="update-ratio",
        severity="critical",
        title='64 gradient steps a step: "too many"',
        phase="learn",
        gain=Gain(2.0, 4.0),
        confidence="high",
        fix="Make fewer.\nThis changes the algorithm.",
        verify=verify,
    )


@pytest.fixture
def drafted(program: Path) -> Path:
    command = [sys.executable, "-m", "hotloop", "run", "-q", "-o", "capture", "train.py"]
    subprocess.run([*command, "--learn-ms", "6"], cwd=program, check=True, capture_output=True)
    return program


def plan_of(folder: Path, findings: list[Finding]) -> tuple[Plan, str]:
    text = draft_plan(analyze(read_capture(folder / "capture")), findings)
    path = folder / "plan.toml"
    path.write_text(text)
    return read_plan(path), text


def test_large_phases_become_experiments(drafted: Path) -> None:
    plan, _ = plan_of(drafted, [])
    assert str(plan.baseline) == "train.py --learn-ms 6"
    assert plan.stop_after == "40steps"
    by_name = {hypothesis.name: hypothesis for hypothesis in plan.hypotheses}
    assert by_name["without learn"].change.skip == ("learn",)
    assert by_name["without learn"].expected.high > 2
    assert by_name["without env.step"].expected.high < 2


def test_a_finding_that_can_be_verified_becomes_a_change(
    drafted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(drafted)
    plan, _ = plan_of(drafted, [finding('hotloop compare "train.py" "train.py --updates 0"')])
    first = plan.hypotheses[0]
    assert (first.name, first.confidence) == ("update-ratio", "high")
    assert first.claim == '64 gradient steps a step: "too many"'
    assert first.change.command == "train.py --updates 0"
    assert (first.expected.low, first.expected.high) == (2.0, 4.0)


@pytest.mark.parametrize(
    "verify",
    [
        "",
        "look at it",
        'hotloop compare "train.py" "<your fix>"',
        "hotloop compare train.py train_fixed.py",  # still to be written
    ],
)
def test_a_finding_without_a_command_waits_for_the_users_change(drafted: Path, verify: str) -> None:
    plan, text = plan_of(drafted, [finding(verify)])
    assert "update-ratio" not in [hypothesis.name for hypothesis in plan.hypotheses]
    assert '# name = "update-ratio"' in text
    assert "# Make fewer." in text
