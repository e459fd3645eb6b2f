"""hotloop reads system files and numbers with Python's functions, whatever a test has put there."""

from __future__ import annotations

import builtins
import os
import sys

import pytest

from hotloop.measure.machine import run_times
from hotloop.measure.memory import resident_bytes


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_replaced_functions_are_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    for owner, name in ((builtins, "open"), (os, "listdir"), (os, "getpid")):
        monkeypatch.setattr(owner, name, lambda *_, name=name, **__: called.append(name))
    assert run_times() is not None
    assert resident_bytes() > 0
    assert called == []
