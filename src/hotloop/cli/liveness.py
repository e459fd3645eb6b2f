"""Whether the process that writes a recording is still running."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def is_running(pid: int | None, host: str | None) -> bool | None:
    """Whether that process runs; None where this machine cannot know."""
    # On Windows, signal 0 is Ctrl-C: asking there would end the run.
    if pid is None or host != platform.node() or os.name != "posix":
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it belongs to somebody else
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Whether a process has ended and only its parent has not noticed yet."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False  # no such file on this system
    # The second field is the name in parentheses, which may hold anything; the third is the state.
    return status.rpartition(")")[2].split()[:1] in (["Z"], ["X"])
