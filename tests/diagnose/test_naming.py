"""Functions as titles name them."""

from __future__ import annotations

import pytest

from hotloop.capture.schema import SourceLine
from hotloop.diagnose.naming import by_name, name_of, stands_before


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("Market.step", "step"),
        ("Memo.__call__", "Memo.__call__"),
        ("__call__", "__call__"),  # Python 3.10 has no names of classes
        ("timed.<locals>.wrapper", "wrapper in timed"),
        ("main.<locals>.<lambda>", "a lambda in main"),
        ("<lambda>", "a lambda"),
        ("Quotes.__getitem__.<locals>.<listcomp>", "Quotes.__getitem__"),
        ("main.<locals>.<genexpr>", "main"),
        ("Board.copy.<locals>.<listcomp>.<listcomp>", "copy"),
        ("main.<locals>.<lambda>.<locals>.<genexpr>", "a lambda in main"),
        ("<listcomp>", ""),
        ("<module>", ""),
    ],
)
def test_names(function: str, name: str) -> None:
    assert name_of(function) == name


def test_a_title_names_a_function_or_a_line() -> None:
    assert by_name([SourceLine("env.py", 3, "Market.step")]) == " (in `step`)"
    assert by_name([SourceLine("/home/me/env.py", 3, "<module>")]) == " (env.py:3)"
    assert by_name([]) == ""


def test_what_is_called_in_place_of_another_function() -> None:
    assert stands_before("Memo.__call__")
    assert stands_before("timed.<locals>.inner")
    assert not stands_before("Market.step")
