"""The callback of Keras, as the documentation shows it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from documented_programs import documented, names, report, run

pytestmark = pytest.mark.framework


def test_keras(tmp_path: Path) -> None:
    pytest.importorskip("keras")
    done = run(documented("keras"), tmp_path)
    assert "gradient steps" in done.stderr
    found = report(tmp_path)
    assert found["run"]["gradient_steps"] == 3 * 16
    assert {"learn", "learn.fit", "learn.step"} <= names(found)


def test_keras_made_in_the_call(tmp_path: Path) -> None:
    """`fit` is already running when its callback begins: what is inside is still seen."""
    pytest.importorskip("keras")
    before, _, _ = documented("keras").partition("with KerasCallback")
    code = f"""{before}
model.fit(x, y, verbose=0)  # compiled before anything is measured
model.fit(x, y, verbose=0, callbacks=[KerasCallback("cap")])
model.fit(x, y, verbose=0)  # not measured
"""
    done = run(code, tmp_path)
    assert "16 gradient steps" in done.stderr
    reader = [sys.executable, "-m", "hotloop", "report", "cap", "--format", "json"]
    shown = subprocess.run(reader, cwd=tmp_path, capture_output=True, text=True, check=True)
    found = json.loads(shown.stdout)
    assert found["run"]["gradient_steps"] == 16
    paths = {phase["path"] for phase in found["phases"]}
    assert "learn/learn.fit/learn.step" in paths
