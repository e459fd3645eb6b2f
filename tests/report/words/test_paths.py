"""Source files as a person would type them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hotloop.report.words.paths import path_from_here


def test_below_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "agents" / "ppo.py"
    file.parent.mkdir()
    file.touch()
    monkeypatch.chdir(tmp_path)
    assert path_from_here(str(file)) == os.path.join("agents", "ppo.py")


def test_elsewhere_or_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, other = tmp_path / "here", tmp_path / "other" / "deep" / "env.py"
    here.mkdir()
    other.parent.mkdir(parents=True)
    other.touch()
    monkeypatch.chdir(here)
    assert path_from_here(str(other)) == os.path.join("deep", "env.py")
    assert path_from_here(str(here / "a" / "gone.py")) == os.path.join("a", "gone.py")
