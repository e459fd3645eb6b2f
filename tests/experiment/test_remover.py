"""Finds what runs in a folder of copies."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from hotloop.experiment.remover import processes_in


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="found in /proc")
def test_processes_are_found_by_the_folder_that_they_work_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "run" / "checkpoints"
    inner.mkdir(parents=True)
    assert os.getpid() not in processes_in(str(tmp_path))
    monkeypatch.chdir(inner)
    assert os.getpid() in processes_in(str(tmp_path / "run"))
    assert os.getpid() not in processes_in(str(tmp_path / "ru"))
