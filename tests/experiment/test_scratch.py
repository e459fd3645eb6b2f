"""What `prove` says about the copies that it runs in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hotloop.experiment import patch
from hotloop.experiment.scratch import links_in_words, removed_after, why_not_again


def test_what_is_not_copied_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patch, "LARGE_BYTES", 10)
    (tmp_path / "train.py").write_text("print('a program of any length')")
    assert links_in_words(tmp_path) == ""
    (tmp_path / "data.npz").write_text("1" * 11)
    assert links_in_words(tmp_path) == "too large to copy, so the runs use your own: data.npz"


def test_a_missing_file_hints_at_the_copy() -> None:
    assert "../data" in why_not_again(["FileNotFoundError: [Errno 2] runs/best.pt"])
    assert "--budget" in why_not_again(["hotloop: no training step was recognized within 88 s"])
    assert "earlier run" in why_not_again(["sqlite3.OperationalError: table exists"])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="found in /proc")
def test_what_still_runs_in_a_copy_ends_with_it(tmp_path: Path) -> None:
    with removed_after(tmp_path / "scratch") as scratch:
        scratch.mkdir()
        (scratch / "checkpoint").write_text("written by a run")
        words = [sys.executable, "-c", "import time; time.sleep(600)"]
        left = subprocess.Popen(words, cwd=scratch, start_new_session=True)
    assert left.wait(60) != 0
    assert not scratch.exists()
