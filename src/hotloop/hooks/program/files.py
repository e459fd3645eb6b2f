"""Whose file it is: the program's own, a library's, Python's or hotloop's."""

from __future__ import annotations

import functools
import os
import site
import sysconfig
from pathlib import Path

_OWN_FOLDER = str(Path(__file__).resolve().parents[2]) + os.sep


def _library_folders() -> tuple[str, ...]:
    paths = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    paths += getattr(site, "getsitepackages", list)()
    return tuple({os.path.realpath(path) + os.sep for path in paths if path})


_LIBRARY_FOLDERS = _library_folders()


@functools.lru_cache(maxsize=4096)  # links on the way to a file are followed
def is_program_file(file: str | None) -> bool:
    """Whether a file is the program's own, not a library's, Python's or hotloop's."""
    if not file or file.startswith("<") or _is_library(file):
        return False
    return not _is_library(os.path.realpath(file))


def _is_library(path: str) -> bool:
    parts = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
    return path.startswith((_OWN_FOLDER, *_LIBRARY_FOLDERS)) or any(p in path for p in parts)
