"""Files and folders that only their owner may read: captures hold paths, arguments and code."""

from __future__ import annotations

import os
from errno import ENOTDIR
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600


def make_folder(folder: Path, exist_ok: bool = False) -> None:
    """Make a private folder; missing parents get the user's umask."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError:  # a file: the folder itself does not exist
        raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR), str(folder.parent)) from None
    folder.mkdir(FOLDER_MODE, exist_ok=exist_ok)


def opener(path: str, flags: int) -> int:
    """For `open(..., opener=opener)`: a file that it makes is private."""
    return os.open(path, flags, FILE_MODE)


def write_text(path: Path, text: str) -> None:
    """Write a private file."""
    with open(path, "w", encoding="utf-8", opener=opener) as file:
        file.write(text)
