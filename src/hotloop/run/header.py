"""The header of a capture: the process and the machine that made it.

It never contains environment variables, and anything that looks like a secret is masked
(`hotloop.masking`).
"""

from __future__ import annotations

import os
import sys
from time import perf_counter_ns
from time import time as wall_clock
from typing import TYPE_CHECKING, Any

from hotloop.capture.schema import Header
from hotloop.masking import mask_arguments
from hotloop.measure.core import NATIVE, WHY_TWIN
from hotloop.measure.machine import affinity_cores, boot_id

if TYPE_CHECKING:
    from hotloop.capture.values import RegionCost
    from hotloop.measure.profiler import Profiler


def process_header(
    profiler: Profiler,
    role: str,
    command: list[str] | None = None,
    cost: RegionCost | None = None,
    settings: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The facts of a shard's header."""
    import platform

    from hotloop import __version__

    # Both clocks at the same moment: a window's time since the origin becomes a time of day.
    return {
        Header.version: __version__,
        Header.role: role,
        Header.pid: os.getpid(),
        Header.parent: os.getppid(),
        Header.host: platform.node(),
        Header.boot: boot_id(),
        Header.command: mask_arguments(command if command is not None else sys.argv),
        Header.python: platform.python_version(),
        # Not `platform.platform()`, which starts a process: the program would find a child's time.
        Header.platform: f"{platform.system()}-{platform.release()}-{platform.machine()}",
        Header.machine: platform.machine(),
        Header.cores: affinity_cores(),
        Header.native: NATIVE,
        Header.why_twin: WHY_TWIN,
        Header.started: wall_clock() - (perf_counter_ns() - profiler.origin_ns) / 1e9,
        Header.origin_ns: profiler.origin_ns,
        Header.cost: cost.encode() if cost else None,
        **(settings or {}),
    }
