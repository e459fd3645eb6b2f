"""The whole loop under torch's profiler: kernel time and critical path of each range.

What hotloop has to come to by other means. A program marks its ranges with `span(name)`; here they
are `record_function`s, and every launch, kernel, copy and wait of the loop is recorded.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable
from statistics import median
from typing import Any

import torch

#: A launch that takes this many times the usual one was blocked by a full queue.
BLOCKED = 5


def write_truth(train: Callable[[Any], float], file: str) -> float:
    """Run `train(span)` under the profiler and write what each range cost; returns its seconds."""
    from torch.profiler import ProfilerActivity, profile, record_function

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as recorded:
        seconds = train(record_function)
    trace = Trace(recorded.profiler.kineto_results.events())
    with open(file, "w") as out:
        json.dump(
            {
                "seconds": trace.kernel_seconds(),
                "critical": trace.critical_seconds(),
                "host": trace.host_seconds(),
                "traced_s": seconds,
            },
            out,
        )
    return seconds


class Trace:
    """The events of a whole trace, by what they are."""

    def __init__(self, events: Any) -> None:
        self.spans: list[tuple[int, int, str]] = []
        self.calls: dict[int, tuple[int, int, str]] = {}
        self.kernels: list[tuple[int, int, int]] = []
        events = list(events)
        on_host = {e.name() for e in events if _on_cpu(e)}
        for event in events:
            begin, name = event.start_ns(), event.name()
            end = begin + event.duration_ns()
            if not _on_cpu(event):
                # The profiler also shows ranges of the host on the device, under their own names.
                if not name.startswith(("Memcpy", "Memset")) and name not in on_host:
                    self.kernels.append((begin, end, event.correlation_id()))
            elif name.startswith(("cuda", "cu")):
                self.calls[event.correlation_id()] = (begin, end, name)
            elif name.startswith(("policy.", "learn.", "env.", "buffer.")):
                self.spans.append((begin, end, name))
        self.spans.sort()
        self.kernels.sort()
        self._begins = [span[0] for span in self.spans]

    def range_at(self, at: int | None) -> str:
        index = bisect_right(self._begins, at) - 1 if at is not None else -1
        inside = index >= 0 and at is not None and at < self.spans[index][1]
        return self.spans[index][2] if inside else "other"

    def range_of_kernel(self, correlation: int) -> str:
        call = self.calls.get(correlation)
        return self.range_at(call[0] if call else None)

    def kernel_seconds(self) -> dict[str, float]:
        totals: dict[str, float] = {}
        for begin, end, correlation in self.kernels:
            name = self.range_of_kernel(correlation)
            totals[name] = totals.get(name, 0.0) + (end - begin) / 1e9
        return totals

    def host_seconds(self) -> dict[str, float]:
        totals: dict[str, float] = {}
        for begin, end, name in self.spans:
            totals[name] = totals.get(name, 0.0) + (end - begin) / 1e9
        return totals

    def critical_seconds(self) -> dict[str, float]:
        """Host time of each range, with waiting moved to the range whose kernel was waited for."""
        totals = self.host_seconds()
        for begin, end in self._waits():
            index = max(bisect_right(self.kernels, (begin,)) - 1, 0)
            at = begin
            for kernel_begin, kernel_end, correlation in self.kernels[index:]:
                if kernel_begin >= end:
                    break
                length = min(kernel_end, end) - max(kernel_begin, at)
                if length > 0:
                    at = min(kernel_end, end)
                    here, there = self.range_at(begin), self.range_of_kernel(correlation)
                    totals[here] = totals.get(here, 0.0) - length / 1e9
                    totals[there] = totals.get(there, 0.0) + length / 1e9
        return totals

    def _waits(self) -> list[tuple[int, int]]:
        launches = [e - b for b, e, name in self.calls.values() if "Launch" in name]
        usual = median(launches) if launches else 0
        waits = []
        for begin, end, name in self.calls.values():
            if "Synchronize" in name or "Memcpy" in name:
                waits.append((begin, end))
            elif "Launch" in name and end - begin > BLOCKED * usual:
                waits.append((begin + int(usual), end))
        return sorted(waits)


def _on_cpu(event: Any) -> bool:
    return str(event.device_type()) == "DeviceType.CPU"


def device_of(name: str | None) -> str:
    return name or ("cuda" if torch.cuda.is_available() else "cpu")
