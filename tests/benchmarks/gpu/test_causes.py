"""How a program's findings and speeds are judged, and that its programs run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.gpu import causes
from benchmarks.gpu.causes import CASES, PROGRAMS, Case, Result

CAUSES = Path(causes.__file__).parents[2] / "docs" / "causes.md"


def finding(id: str, low: float = 1.2, high: float = 2.0, severity: str = "warning") -> Any:
    gain = {"low": low, "high": high}
    return {"id": id, "severity": severity, "gain": gain, "ceiling": high}


def result(case: Case, *findings: Any, slow: float = 100.0, fixed: float | None = None) -> Result:
    made = Result(case, report={"findings": list(findings), "phases": [], "device": None})
    made.slow = [{"steps_per_s": slow}]
    made.fixed = [{"steps_per_s": fixed}] if fixed else []
    made.hotloop = {"loop_s": 10.0, "steps": 1000.0, "steps_per_s": slow / 1.02}
    return made


SLOW = Case("slow.py", ("launch-bound",), ("--fixed",))


def test_every_expected_cause_exists_and_every_program_is_there() -> None:
    known = set(re.findall(r"^### `(.+)`$", CAUSES.read_text(), re.MULTILINE))
    assert {id for case in CASES for id in case.causes} <= known
    assert all((PROGRAMS / case.file).exists() for case in CASES)
    assert sum(bool(case.fix) for case in CASES) >= 8
    assert sum(not case.fix for case in CASES) >= 4


def test_the_first_loud_finding_decides() -> None:
    assert result(SLOW, finding("launch-bound")).first_right
    assert result(SLOW, finding("x", severity="info"), finding("launch-bound")).first_right
    assert not result(SLOW, finding("x"), finding("launch-bound")).first_right
    assert not result(SLOW).first_right
    assert not Result(SLOW).first_right


def test_a_healthy_program_must_be_silent() -> None:
    assert result(Case("a.py")).first_right
    assert not result(Case("a.py"), finding("tf32-off")).first_right
    simulator = Case("a.py", ("env-bound",), silent=True)
    assert result(simulator).first_right
    assert result(simulator, finding("env-bound")).first_right
    assert not result(simulator, finding("tf32-off")).first_right


@pytest.mark.parametrize(("fixed", "inside"), [(150.0, True), (300.0, False), (90.0, False)])
def test_the_measured_gain_is_held_against_the_range(fixed: float, inside: bool) -> None:
    judged = result(SLOW, finding("launch-bound"), fixed=fixed)
    assert judged.measured_gain == pytest.approx(fixed / 100)
    assert judged.gain_inside is inside
    assert result(SLOW, finding("x"), fixed=fixed).gain_inside is None


def test_figures_beside_the_trace() -> None:
    judged = result(SLOW, finding("launch-bound"))
    phase = {"process": "main", "name": "learn.forward", "critical_self_s": 4.0}
    judged.report["phases"] = [phase]
    judged.report["device"] = {
        "kernel_share": 0.5,
        "figures": {"busy": 0.6},
        "phases": [{"path": "learn/learn.forward", "kernel_s": 3.3}],
    }
    figures = {
        "seconds": {"learn.forward": 0.3},
        "critical": {"learn.forward": 0.5},
        "traced_s": 1.0,
    }
    judged.truth = {"figures": figures, "steps": 100.0}
    shares, kernels = judged.against_trace()
    assert shares == {"learn.forward": (0.4, 0.5)}
    assert kernels == {"learn.forward": pytest.approx(0.1)}
    row = causes.table([judged]).splitlines()[2]
    assert (
        "launch-bound warning 1.20 to 2.00 | yes | - | - | 50% / 60% | 1.020 | 10.0 | +10.0%" in row
    )
    assert json.loads(json.dumps(judged.as_json()))["busy"] == [0.5, 0.6]


@pytest.mark.parametrize("fix", [False, True])
def test_a_program_tells_its_speed(fix: bool) -> None:
    case = next(case for case in CASES if case.file == "device_gae.py")
    command = [sys.executable, str(PROGRAMS / case.file), "--device", "cpu", "--iterations", "2"]
    done = subprocess.run(
        [*command, *case.tiny, *(case.fix if fix else ())],
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["steps"] == 2 * 16 * 32
    assert told["steps_per_s"] == pytest.approx(told["steps"] / told["loop_s"])


def test_both_ways_to_compute_advantages_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(PROGRAMS))
    import device_gae

    torch.manual_seed(0)
    rewards, values, last = torch.randn(37, 5), torch.randn(37, 5), torch.randn(5)
    dones = (torch.rand(37, 5) < 0.1).float()
    one = device_gae.gae_loop(rewards, values, dones, last)
    other = device_gae.gae_doubling(rewards, values, dones, last)
    torch.testing.assert_close(one, other)
