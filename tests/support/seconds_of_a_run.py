"""A run of one-second windows made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from made_shards import made_shard

from hotloop.capture.reader import Capture
from hotloop.capture.window import PhaseDelta, Window

S = 1_000_000_000


def second(number: int, steps: int = 10, loop: bool = True, **phases: float) -> Window:
    """One second of a run: phases with their own time in it."""
    begin = number * S
    own = {
        name.replace("_", "."): PhaseDelta(1, round(s * S), round(s * S), 0, 0, 0, begin + 1, begin)
        for name, s in phases.items()
    }
    idle = 1 - sum(phases.values())
    own[""] = PhaseDelta(self_ns=round(idle * S))
    gauges = {"resident": 1e8 + number, "resident_peak": 2e8, "process_cpu_ns": 0.5 * S}
    counters = {"env_steps": steps} if steps else {}
    end = begin + S
    return Window(number, number, begin, end, own, counters, {}, gauges, end if loop else 0)


def capture(windows: list[Window], **header: Any) -> Capture:
    return Capture(Path("run"), [made_shard("main", {"role": "main", **header}, {}, windows)])
