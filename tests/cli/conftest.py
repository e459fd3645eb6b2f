"""Ctrl-C during a command, and a folder with recorded runs."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from recorded_folders import aged, record


@pytest.fixture
def press_ctrl_c(program: Path) -> Callable[..., tuple[str, str]]:
    """Run a command until it says something on standard error, then press Ctrl-C."""

    def press(*arguments: str, when: str) -> tuple[str, str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "hotloop", *arguments],
            cwd=program,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        for line in process.stderr:
            if when in line:
                break
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 130, errors
        return output, errors

    return press


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with an old and a new run below runs/hotloop."""
    monkeypatch.chdir(tmp_path)
    base = tmp_path / "runs" / "hotloop"
    aged(record(base / "old"), 30)
    aged(record(base / "new", "other.py"), 1)
    return tmp_path
