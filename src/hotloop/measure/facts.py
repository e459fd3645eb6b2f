"""What a capture says of the process and the machine that it was made on.

Never environment variables; what looks like a secret is masked (`hotloop.masking`).
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

from hotloop.masking import mask_arguments
from hotloop.measure.core import NATIVE, WHY_TWIN

if TYPE_CHECKING:
    from hotloop.measure.calibrate import Cost
    from hotloop.measure.profiler import Profiler


def usable_cores() -> int:
    """Cores that this process may use (affinity, not what the machine has)."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def process_header(
    profiler: Profiler,
    role: str,
    command: list[str] | None = None,
    cost: Cost | None = None,
    settings: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The facts of a shard's header."""
    import platform

    from hotloop import __version__

    # Both clocks at the same moment: a window's time since the origin becomes a time of day.
    return {
        "version": __version__,
        "role": role,
        "pid": os.getpid(),
        "parent": os.getppid(),
        "host": platform.node(),
        "command": mask_arguments(command if command is not None else sys.argv),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cores": usable_cores(),
        "native": NATIVE,
        "why_twin": WHY_TWIN,
        "started": time.time() - (time.perf_counter_ns() - profiler.origin_ns) / 1e9,
        "origin_ns": profiler.origin_ns,
        "cost": {"inside_ns": cost.inside_ns, "outside_ns": cost.outside_ns} if cost else None,
        **(settings or {}),
    }
