"""Hooks in C that hand over to Python in rare cases only."""

from __future__ import annotations

from typing import Any

import pytest

native = pytest.importorskip("hotloop.measure._native")


@pytest.fixture
def calls() -> list[str]:
    """Who was called."""
    return []


@pytest.fixture
def tensor(calls: list[str]) -> Any:
    """As `torch.tensor` is hooked."""

    def original(*args: object, **kwargs: object) -> str:
        calls.append("original")
        return "made"

    def python(*args: object, **kwargs: object) -> str:
        calls.append("python")
        return original(*args, **kwargs)

    return native.ListCalls(original, python)


@pytest.mark.parametrize("args", [([1.0],), ((1.0, 2.0), "float")])
def test_lists_and_tuples_are_for_python(tensor: Any, calls: list[str], args: Any) -> None:
    assert tensor(*args) == "made"
    assert calls == ["python", "original"]


def test_a_device_is_for_python(tensor: Any, calls: list[str]) -> None:
    assert tensor(1.0, device="cuda", dtype="float") == "made"
    assert calls == ["python", "original"]


def test_numbers_arrays_and_other_keywords_are_not(tensor: Any, calls: list[str]) -> None:
    assert [tensor(1.0), tensor(), tensor(data=[1.0]), tensor(b"", dtype="float")] == ["made"] * 4
    assert calls == ["original"] * 4


def test_an_error_is_the_callers() -> None:
    def fails(*args: object) -> None:
        raise ValueError("not like this")

    for hook in (native.ListCalls(fails, fails), native.CompiledRuns(fails)):
        for argument in ([1.0], 1.0):
            with pytest.raises(ValueError, match="not like this"):
                hook(argument)


def test_what_was_set_before_is_returned() -> None:
    installed: list[object] = [None]

    def set_eval_frame(callback: object) -> object:
        installed.append(callback)
        return installed[-2]

    hooked = native.CompiledRuns(set_eval_frame)
    compiled = native.CompiledRuns
    assert [hooked(each) for each in (compiled, False, None)] == [None, compiled, False]
    assert installed == [None, compiled, False, None]
