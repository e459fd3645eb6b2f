"""`hotloop doctor`: the judgements on surveys made by hand, and the real command."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hotloop.analyze.doctor import PROBLEM, Check, Framework, Survey, examine, is_wrong
from hotloop.measure import survey
from hotloop.report.doctor import doctor_text
from hotloop.report.terminal import Style

HEALTHY = Survey(
    cores=8,
    memory_bytes=32 << 30,
    memory_available=16 << 30,
    frameworks=[Framework("torch", "2.5", "cpu", threads=8)],
    hooks={"PyTorch": {"version": "2.5", "missing": []}},
)
GPU = replace(HEALTHY, accelerators=["CUDA"], driver="550.54.15")


def problems(survey: Survey) -> list[Check]:
    return [check for check in examine(survey) if check.state == PROBLEM]


def test_a_machine_in_good_order() -> None:
    assert not is_wrong(examine(HEALTHY))


def test_a_framework_that_sees_the_device() -> None:
    torch = Framework("torch", "2.5", "cuda 12.4", ["NVIDIA X"])
    assert problems(replace(GPU, frameworks=[torch])) == []


def test_a_card_whose_figures_cannot_be_read() -> None:
    torch = Framework("torch", "2.5", "cuda 12.4", ["NVIDIA X"])
    checks = examine(replace(GPU, frameworks=[torch], card_error="no permission to read it"))
    assert any("no permission" in check.text for check in checks)
    assert not is_wrong(checks)  # a training does not need them


@pytest.mark.parametrize(
    ("framework", "change", "why"),
    [
        (Framework("torch", "2.5", "cpu"), {}, "this build cannot use CUDA"),
        (Framework("torch", "2.5", "cuda 12.4"), {}, "driver (550.54.15) may be too old"),
        (Framework("torch", "2.5", "cuda 12.4"), {"driver": None}, "cannot be opened"),
        (Framework("JAX", "0.4", "cpu"), {"accelerators": ["MPS"]}, "cannot use MPS"),
        (Framework("torch", error="libcudart.so: no"), {}, "cannot be imported: libcudart.so"),
    ],
)
def test_why_a_framework_sees_none(framework: Framework, change: dict[str, Any], why: str) -> None:
    (found,) = problems(replace(GPU, frameworks=[framework], **change))
    assert why in found.text
    assert found.remedy


def test_a_variable_that_hides_the_devices_is_the_one_problem() -> None:
    torch = Framework("torch", "2.5", "cuda 12.4")
    hidden = replace(GPU, frameworks=[torch], hidden_by={"CUDA_VISIBLE_DEVICES": True})
    (found,) = problems(hidden)
    assert "CUDA_VISIBLE_DEVICES" in found.text
    assert "unset" in found.remedy
    some = replace(hidden, hidden_by={"CUDA_VISIBLE_DEVICES": False})
    assert "too old" in problems(some)[0].text


@pytest.mark.parametrize(("quota", "count"), [(None, 0), (8.0, 0), (2.0, 1), (0.5, 1)])
def test_threads_beyond_what_a_container_may_use(quota: float | None, count: int) -> None:
    found = problems(replace(HEALTHY, quota_cores=quota))
    assert len(found) == count
    if count:
        assert f"OMP_NUM_THREADS={max(int(quota or 1), 1)}" in found[0].remedy


def test_thread_settings_beyond_the_cores() -> None:
    (found,) = problems(replace(HEALTHY, thread_settings={"MKL_NUM_THREADS": 9}))
    assert "MKL_NUM_THREADS is 9" in found.text


@pytest.mark.parametrize(
    "change",
    [
        {"memory_available": (1 << 30) - 1},
        {"swap": (4 << 30, (512 << 20) + 1)},
        {"native": False, "why_twin": "no compiler"},
        {"hooks": {"PyTorch": {"version": "9", "missing": ["torch.nn.Module.__call__"]}}},
        {"hook_failures": {"torch": "ValueError()"}},
    ],
)
def test_each_problem_has_its_remedy(change: dict[str, Any]) -> None:
    (found,) = problems(replace(HEALTHY, **change))
    assert found.remedy


def test_plain_text_without_colour_or_signs() -> None:
    checks = examine(replace(HEALTHY, native=False, why_twin="a\x1b[31m b"))
    text = doctor_text(checks, Style(80, False, unicode=False))
    assert "\x1b" not in text
    assert "1 problem found." in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_variables_are_read_as_numbers_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "12")
    monkeypatch.setenv("MKL_NUM_THREADS", "secret")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "1")
    found = survey.thread_variables()
    assert found["OMP_NUM_THREADS"] == 12
    assert "MKL_NUM_THREADS" not in found
    assert survey.hiding_variables() == {
        "CUDA_VISIBLE_DEVICES": True,
        "HIP_VISIBLE_DEVICES": False,
    }


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise ImportError('broken')", "ImportError: broken"),
        ("import os; os._exit(3)", "exit code 3"),
        ("found = [1]", "another kind"),
    ],
)
def test_a_framework_that_breaks_is_told_in_one_line(code: str, why: str) -> None:
    assert why in survey.ask(code)["error"]


def test_a_framework_that_hangs_is_left() -> None:
    found = survey.ask("import time; time.sleep(60)", time_limit_s=1.0)
    assert "no answer" in found["error"]


def test_the_real_command(
    hotloop: Callable[..., subprocess.CompletedProcess[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = hotloop("doctor", "--json", env={"OMP_NUM_THREADS": "4096"}, timeout=600)
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == "hotloop.doctor/1"
    assert document["ok"] is False
    texts = [check["text"] for check in document["checks"] if check["state"] == PROBLEM]
    assert any("OMP_NUM_THREADS is 4096" in text for text in texts)
    assert document["machine"]["cores"] >= 1
