"""Source files that may have been edited since a run."""

from __future__ import annotations

import os
from pathlib import Path

from hotloop.sources import is_unchanged


def test_a_file_is_unchanged_if_it_is_older_than_the_run(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("")
    written = file.stat().st_mtime
    assert is_unchanged(str(file), written + 10)
    assert not is_unchanged(str(file), written - 10)
    assert not is_unchanged(str(file), None)
    assert not is_unchanged(str(tmp_path / "gone.py"), written + 10)


def test_only_a_regular_file_can_be_read_again(tmp_path: Path) -> None:
    later = tmp_path.stat().st_mtime + 10
    assert not is_unchanged(str(tmp_path), later)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")  # reading it would never end
        assert not is_unchanged(str(tmp_path / "pipe"), later)
