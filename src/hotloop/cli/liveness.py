"""Whether the process that writes a recording is still running."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def is_running(pid: int | None, host: str | None) -> bool | None:
    """Whether that process is running; None if this machine cannot tell."""
    # On Windows, signal 0 is Ctrl-C, which would end the run.
    if pid is None or host != platform.node() or os.name != "posix":
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it belongs to another user
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Whether a process is a zombie: it has ended, and its parent has not reaped it."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False  # no such file on this system
    # The second field is the name in parentheses (any characters); the third is the state.
    return status.rpartition(")")[2].split()[:1] in (["Z"], ["X"])
