"""The callbacks and the one line, as the documentation shows them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs" / "integrations.md"
LOOP = """
from hotloop import count, profile

for _ in range(20):
    with profile("env.step"):
        count("env_steps", 4)
"""


def documented(name: str) -> str:
    """The block of docs/integrations.md with that mark."""
    text = DOCUMENT.read_text()
    match = re.search(rf"<!-- runs: {name} -->\n```python\n(.*?)```", text, re.DOTALL)
    assert match, f"docs/integrations.md has no block {name}"
    return match[1]


def run(code: str, folder: Path, *before: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(code)
    done = subprocess.run(
        [sys.executable, *before, "program.py"],
        cwd=folder,
        env={
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "KERAS_BACKEND": "tensorflow",
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done


def report(folder: Path) -> dict[str, Any]:
    """Of the one capture that a program has left."""
    captures = list(folder.glob("runs/hotloop/*"))
    assert len(captures) == 1, captures
    done = subprocess.run(
        [sys.executable, "-m", "hotloop", "report", str(captures[0]), "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def names(document: dict[str, Any]) -> set[str]:
    return {phase["name"] for phase in document["phases"]}


def test_the_one_line(tmp_path: Path) -> None:
    done = run(documented("one_line") + LOOP, tmp_path)
    assert "80 steps" in done.stderr
    assert report(tmp_path)["run"]["env_steps"] == 80


def test_sb3(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    more = """
print(type(model).train.__module__, hasattr(PPO.train, "__wrapped__"))
"""
    done = run(documented("sb3") + more, tmp_path)
    assert done.stdout == "stable_baselines3.ppo.ppo False\n"  # the hooks are off again
    assert "Where the" in done.stderr
    found = report(tmp_path)
    assert found["run"]["env_steps"] == 1024
    assert found["run"]["gradient_steps"] == 4 * 4 * 10
    assert {"collect", "env.step", "policy.act", "buffer.add", "advantage", "learn"} <= names(found)
    assert found["unexplained"] < 0.2


def test_sb3_under_run(tmp_path: Path) -> None:
    """`hotloop run` measures; the callback only asks it for scalars."""
    pytest.importorskip("stable_baselines3")
    more = """
from hotloop.measure.session import Session
print(Session.current.settings.scalars, Session.current.scalars is not None)
"""
    done = run(documented("sb3") + more, tmp_path, "-m", "hotloop", "run", "-q")
    assert done.stdout == "False True\n"
    assert report(tmp_path)["run"]["env_steps"] == 1024


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
model.fit(x, y, verbose=0)  # measured by nobody
"""
    done = run(code, tmp_path)
    assert "16 gradient steps" in done.stderr
    reader = [sys.executable, "-m", "hotloop", "report", "cap", "--format", "json"]
    shown = subprocess.run(reader, cwd=tmp_path, capture_output=True, text=True, check=True)
    found = json.loads(shown.stdout)
    assert found["run"]["gradient_steps"] == 16
    paths = {phase["path"] for phase in found["phases"]}
    assert "learn/learn.fit/learn.step" in paths


def test_two_at_once(tmp_path: Path) -> None:
    code = """
from hotloop.integrations import record
first = record("one", quiet=True)
second = record("two", quiet=True)
second.end()
print(first.is_on, second.is_on)
"""
    done = run(code, tmp_path)
    assert done.stdout == "True False\n"
    assert "one is still being recorded" in done.stderr
    assert not (tmp_path / "two").exists()
