"""Judgements on surveys made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from surveys import HEALTHY

from hotloop.analyze.doctor import PROBLEM, Check, Framework, Survey, examine, is_wrong
from hotloop.capture.schema import LibraryUse

GPU = replace(HEALTHY, accelerators=["CUDA"], driver="550.54.15")


def problems(survey: Survey) -> list[Check]:
    return [check for check in examine(survey) if check.state == PROBLEM]


def test_a_healthy_machine() -> None:
    assert not is_wrong(examine(HEALTHY))


@pytest.mark.parametrize(
    ("busy", "words"), [(0.2, "quiet enough"), (6.5, "longer than on a quiet")]
)
def test_load_comes_first(busy: float, words: str) -> None:
    checks = examine(replace(HEALTHY, busy_cores=busy, native=False))
    assert words in checks[0].text
    assert checks[1].state == PROBLEM  # then what does the most harm


def test_hooks_that_fit_are_one_line() -> None:
    hooks = {name: LibraryUse({"version": "1.0"}) for name in ("PyTorch", "Gymnasium")}
    found = [check.text for check in examine(replace(HEALTHY, hooks=hooks))]
    assert "All hooks fit: PyTorch 1.0, Gymnasium 1.0." in found


def test_an_import_that_takes_too_long_is_no_problem() -> None:
    survey = replace(HEALTHY, frameworks=[Framework("torch", "2.5", unfinished=True)])
    assert not is_wrong(examine(survey))
    assert any("--wait" in check.text for check in examine(survey))


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
        {
            "hooks": {
                "PyTorch": LibraryUse({"version": "9", "missing": ["torch.nn.Module.__call__"]})
            }
        },
        {"hook_failures": {"torch": "ValueError()"}},
    ],
)
def test_each_problem_has_its_remedy(change: dict[str, Any]) -> None:
    (found,) = problems(replace(HEALTHY, **change))
    assert found.remedy


def test_one_core_and_one_thread_are_singular() -> None:
    torch = Framework("torch", "2.5", "cpu", threads=1)
    found = [c.text for c in examine(replace(HEALTHY, cores=1, frameworks=[torch]))]
    assert "1 core, not limited." in found
    assert "torch uses 1 thread per operation." in found
    torch = replace(torch, threads=4)
    found = [c.text for c in examine(replace(HEALTHY, cores=1, frameworks=[torch]))]
    assert any("4 threads per operation, but only 1 core can be used" in text for text in found)
