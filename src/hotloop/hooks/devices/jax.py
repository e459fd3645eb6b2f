"""Records device activity with JAX's own profiler and reads it with JAX's own reader.

A recording is in a format of XLA, which `jax.profiler.ProfileData` reads without any other library.
Device work and the calls that launched it have the same correlation id, as in CUDA's own
recordings.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any

from hotloop.hooks.protocols import Foreign
from hotloop.measure.activity import (
    COPY_CALL,
    KERNEL,
    LAUNCH,
    ON_DEVICE,
    TO_DEVICE,
    TO_HOST,
    Activity,
)

_SIZE = re.compile(r"size:(\d+)")
#: One of four JAX programs on an H200 died of CUDA_ERROR_LAUNCH_FAILED while it was recorded, and
#: ran through without hotloop. Probably the tracer detaches under a compiled loop.
RISK = (
    "Device activity of a program that runs JAX on a GPU is recorded with --gpu full only: "
    "recording it can end the program (CUDA_ERROR_LAUNCH_FAILED)."
)


def uses_a_gpu() -> bool:
    """Whether JAX has begun to use a GPU in this process; asking must not make it begin."""
    jax = sys.modules.get("jax")
    bridge = sys.modules.get("jax._src.xla_bridge")
    if jax is None or not getattr(bridge, "_backends", None):
        return False
    try:
        return any(device.platform in ("gpu", "cuda", "rocm") for device in jax.devices())
    except RuntimeError:  # no backend that was asked for could be started
        return False


class JaxDevice:
    """A GPU that JAX uses."""

    def __init__(self, name: str = "CUDA") -> None:
        self.name = name
        self._session: Any = None

    def in_use(self) -> bool:
        return uses_a_gpu()

    def records(self) -> str | None:
        if self._profiler() is None or not hasattr(sys.modules["jax"].profiler, "ProfileData"):
            return "This JAX cannot read its own recordings: device activity is not recorded."
        return None

    @staticmethod
    def _profiler() -> Foreign:
        try:
            from jax._src.lib import _profiler
        except ImportError:
            return None
        return _profiler if hasattr(_profiler, "ProfilerSession") else None

    def risk(self) -> str | None:
        return RISK

    def prepare(self) -> None: ...

    def start(self) -> None:
        options = sys.modules["jax"].profiler.ProfileOptions()
        options.python_tracer_level = 0
        options.host_tracer_level = 1
        self._session = self._profiler().ProfilerSession(options)

    def settle(self) -> None:
        """Nothing: JAX itself waits when a recording ends."""

    def stop(self, to_clock_ns: int) -> list[Activity]:
        session, self._session = self._session, None
        data = sys.modules["jax"].profiler.ProfileData.from_serialized_xspace(session.stop())
        return activities_of(data, to_clock_ns)

    def call_driver(self) -> None: ...

    def memory(self) -> tuple[int, int] | None:
        device = sys.modules["jax"].local_devices()[0]
        stats = device.memory_stats() or {}
        if "bytes_in_use" not in stats:
            return None
        reserved = stats.get("pool_bytes") or stats.get("bytes_reserved") or stats["bytes_in_use"]
        return int(stats["bytes_in_use"]), int(reserved)

    def uuid(self) -> str:
        """The driver's name of the card, where the program chose it by that; empty otherwise."""
        chosen = self._chosen()
        return chosen if chosen.startswith("GPU-") else ""

    def index(self) -> int:
        """The driver's number of the card: JAX counts those that the environment leaves visible."""
        chosen = self._chosen()
        return int(chosen) if chosen.isdigit() else self._number()

    def used(self) -> int:
        return len(sys.modules["jax"].local_devices())

    @staticmethod
    def _number() -> int:
        return int(sys.modules["jax"].local_devices()[0].local_hardware_id or 0)

    def _chosen(self) -> str:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        entries = [entry.strip() for entry in visible.split(",") if entry.strip()]
        return entries[self._number()] if self._number() < len(entries) else ""

    def about(self) -> dict[str, Any]:
        devices = sys.modules["jax"].local_devices()
        return {"card": str(devices[0].device_kind), "visible": len(devices)}


def activities_of(data: Any, to_clock_ns: int) -> list[Activity]:
    """The device's part of a recording, on hotloop's clock."""
    planes = list(data.planes)
    base = to_clock_ns + _began(planes)
    found: list[Activity] = []
    for plane in planes:
        on_device = plane.name.startswith("/device:")
        if not on_device and not plane.name.startswith("/host:CPU"):
            continue
        device = int(plane.name.rpartition(":")[2]) if on_device else 0
        for line in plane.lines:
            for event in line.events:
                details = dict(event.stats)
                if "correlation_id" not in details:
                    continue
                kind = _kind(event.name, on_device)
                size = _SIZE.search(str(details.get("memcpy_details", "")))
                begin = base + round(event.start_ns)
                found.append(
                    Activity(
                        kind,
                        begin,
                        begin + round(event.duration_ns),
                        int(details["correlation_id"]),
                        int(size[1]) if size else 0,
                        device,
                    )
                )
    return found


def _began(planes: list[Any]) -> int:
    """The time of day from which a recording counts."""
    for plane in planes:
        for name, value in plane.stats:
            if name == "profile_start_time":
                return int(value)
    return 0


def _kind(name: str, on_device: bool) -> str:
    copies = "emcpy" in name or "emset" in name
    if not on_device:
        return COPY_CALL if copies else LAUNCH
    if not copies:
        return KERNEL
    if "H2D" in name:
        return TO_DEVICE
    return TO_HOST if "D2H" in name else ON_DEVICE
