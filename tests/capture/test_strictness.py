"""An undeclared key is an error in tests, and ignored otherwise."""

from __future__ import annotations

import pytest

from hotloop.capture.strictness import VARIABLE, UndeclaredError, is_strict, require


def test_strict_mode_names_what_is_not_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    require("counter", ["env_steps"], {"env_steps"})
    with pytest.raises(UndeclaredError, match=r"counter: not declared .*: 'b', 'c'"):
        require("counter", ["c", "env_steps", "b"], {"env_steps"})


@pytest.mark.parametrize("value", ["", "0"])
def test_a_user_never_sees_that_error(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(VARIABLE, value)
    assert not is_strict()
    require("counter", ["b"], ())
