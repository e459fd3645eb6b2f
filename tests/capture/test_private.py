"""What a run leaves is readable by its owner only."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from hotloop.capture import private

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_folders_and_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        folder = tmp_path / "runs" / "capture"
        private.make_folder(folder)
        private.write_text(folder / "notes.json", "{}\n")
    finally:
        os.umask(before)
    assert (mode(folder), mode(folder / "notes.json")) == (0o700, 0o600)
    assert mode(folder.parent) == 0o755  # the user's own folder
    assert (folder / "notes.json").read_text() == "{}\n"


def test_an_existing_folder_is_an_error_unless_allowed(tmp_path: Path) -> None:
    private.make_folder(tmp_path / "a")
    with pytest.raises(FileExistsError):
        private.make_folder(tmp_path / "a")
    private.make_folder(tmp_path / "a", exist_ok=True)
    assert (tmp_path / "a").is_dir()
