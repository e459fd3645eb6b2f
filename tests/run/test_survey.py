"""The survey of a machine: variables and frameworks, each in a process of its own."""

from __future__ import annotations

import pytest

from hotloop.run import survey


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
        ("found = [1]", "unexpected output"),
    ],
)
def test_a_framework_that_breaks_is_told_in_one_line(code: str, why: str) -> None:
    assert why in survey.ask(code)["error"]


def test_a_framework_that_hangs_is_left() -> None:
    found = survey.ask("import time; time.sleep(60)", time_limit_s=1.0)
    assert found == {"unfinished": True}
