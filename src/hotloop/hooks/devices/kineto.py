"""torch's own profiler, Kineto, for device activity only: CUDA and ROCm.

The CPU is not recorded, so operators are not slowed down. A recording is read from the Chrome trace
that Kineto itself writes: the one format that all versions of torch share, and the only one that
has the bytes of copies.
"""

from __future__ import annotations

import functools
import json
import os
import re
import sys
import tempfile
from typing import Any

from hotloop.measure.activity import (
    COPY_CALL,
    FLOAT32,
    KERNEL,
    LAUNCH,
    ON_DEVICE,
    OTHER_CALL,
    PAGEABLE,
    SYNC,
    TO_DEVICE,
    TO_HOST,
    Activity,
)

#: Categories of a Chrome trace that are calls of a driver or its runtime.
_CALLS = frozenset(("cuda_runtime", "cuda_driver", "runtime", "driver", "hip_runtime"))
_LAUNCH = re.compile(r"Launch")
_COPY = re.compile(r"Memcpy|Memset")
_SYNC = re.compile(r"Synchronize")
_TO_DEVICE = re.compile(r"HtoD|HostToDevice")
_TO_HOST = re.compile(r"DtoH|DeviceToHost")
#: Matrix products and convolutions of cuBLAS, cuDNN and CUTLASS by the types in their names. Those
#: with TF32 have it in their name, or the tile of its instruction.
_FLOAT32 = re.compile(r"sgemm|f32f32_f32f32")
_OTHER_PRECISION = re.compile(r"tf32|1688|bf16|f16")


class Kineto:
    """Records device activity from `start` to `stop`, both called in one thread."""

    def prepare(self) -> None:
        """In the thread that imported torch: Kineto complains if it first starts in another."""
        self.start()
        sys.modules["torch"].autograd._disable_profiler()

    def start(self) -> None:
        """Begin: about 15 ms the first time, 10 later."""
        profiler = sys.modules["torch"].autograd.profiler
        _leave_nothing_behind()
        try:
            profile = profiler.profile(use_cpu=False, use_device="cuda", use_kineto=True)
        except TypeError:  # before torch 2.4
            profile = profiler.profile(use_cpu=False, use_cuda=True, use_kineto=True)
        profile._prepare_trace()
        profile._start_trace()

    def settle(self, index: int) -> None:
        """Wait for the device; without the GIL."""
        sys.modules["torch"].cuda.synchronize(index)

    def stop(self, to_clock_ns: int) -> list[Activity]:
        """End, and return what happened; the time of day and `to_clock_ns` make hotloop's clock."""
        # Like its own `__exit__`, without waiting for a device that the program keeps busy.
        results = sys.modules["torch"].autograd._disable_profiler()
        handle, path = tempfile.mkstemp(prefix="hotloop-", suffix=".json")
        try:
            os.close(handle)
            results.save(path)
            with open(path, "rb") as file:
                return activities_of(json.loads(file.read()), to_clock_ns)
        finally:
            os.unlink(path)


def _leave_nothing_behind() -> None:
    """Detach CUPTI when a recording ends: otherwise every launch stays about a fifth slower.

    It detaches at the next call of CUDA, so recordings must not follow at once, and a program that
    makes no more of them needs one (`DeviceWatch`).
    CUDA before 12.6 cannot do it together with CUDA graphs (according to torch's profiler).
    """
    torch = sys.modules["torch"]
    version = [int(part) for part in re.findall(r"\d+", str(torch.version.cuda))[:2]]
    if version >= [12, 6]:
        os.environ.setdefault("TEARDOWN_CUPTI", "1")


def activities_of(trace: dict[str, Any], to_clock_ns: int = 0) -> list[Activity]:
    """The device's part of a Chrome trace, on hotloop's clock."""
    base = int(trace.get("baseTimeNanoseconds") or 0) + to_clock_ns
    found = []
    for event in trace.get("traceEvents", ()):
        kind = _kind(event.get("cat"), event.get("name"))
        if kind is None or "dur" not in event:
            continue
        details = event.get("args") or {}
        begin = base + round(event["ts"] * 1e3)
        found.append(
            Activity(
                kind,
                begin,
                begin + round(event["dur"] * 1e3),
                int(details.get("correlation") or 0),
                int(details.get("bytes") or 0),
                int(details.get("device") or 0),
                _trait(kind, event["name"]),
            )
        )
    return found


@functools.lru_cache(maxsize=4096)
def _trait(kind: str, name: str) -> str:
    if kind == KERNEL:
        return FLOAT32 if _FLOAT32.search(name) and not _OTHER_PRECISION.search(name) else ""
    return PAGEABLE if kind in (TO_DEVICE, TO_HOST) and "Pageable" in name else ""


@functools.lru_cache(maxsize=4096)
def _kind(category: str | None, name: str) -> str | None:
    if category in _CALLS:
        for pattern, kind in ((_SYNC, SYNC), (_COPY, COPY_CALL), (_LAUNCH, LAUNCH)):
            if pattern.search(name):
                return kind
        return OTHER_CALL
    if category == "kernel":
        return KERNEL
    if category == "gpu_memcpy":
        if _TO_DEVICE.search(name):
            return TO_DEVICE
        return TO_HOST if _TO_HOST.search(name) else ON_DEVICE
    return ON_DEVICE if category == "gpu_memset" else None
