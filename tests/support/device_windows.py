"""Phases and windows with device work, made by hand."""

from __future__ import annotations

from typing import Any

from hotloop.analyze.model import Phase
from hotloop.capture.device_delta import DeviceDelta
from hotloop.capture.schema import Notes
from hotloop.capture.window import Window

GPU = Notes({"gpu": {"name": "CUDA", "card": "A card", "mode": "windows", "remarks": []}})


def phase(path: str, self_s: float, calls: int, **more: Any) -> Phase:
    name = path.rpartition("/")[2]
    given: dict[str, Any] = {"p50_s": 0.0, "p95_s": 0.0, "p99_s": 0.0} | more
    return Phase(
        path, name, "Model", "main", "main", 0, calls, self_s, self_s, 0.0, 0.0, 0.0, 0.0, **given
    )


def window(number: int = 0, **more: Any) -> Window:
    begin = number * 1_000_000_000
    return Window(number, number, begin, begin + 1_000_000_000, **more)


#: Ten calls of a millisecond each, half as long again because they were recorded; each launched
#: three kernels that took 200 microseconds together.
BACKWARD = DeviceDelta(
    host_ns=15_000_000, millicalls=10_000, kernels=30, kernel_ns=2_000_000, launches=30,
    launch_ns=3_000_000, late_ns=9_000_000, queue_ns=500_000, copy_ns=500_000,
)  # fmt: skip
