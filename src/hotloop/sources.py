"""The user's source files, which may have been edited since a run."""

from __future__ import annotations

import os
import stat


def is_unchanged(file: str, started: float | None) -> bool:
    """Whether the file is as it was when a run started: its lines are those recorded."""
    if started is None:
        return False
    try:
        status = os.stat(file)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_mtime <= started
