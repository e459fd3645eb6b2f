"""The whole loop under torch's profiler: kernel time and critical path of each range.

What hotloop has to come to by other means. A program marks its ranges with `span(name)`; here they
are `record_function`s, and every launch, kernel, copy and wait of the loop is recorded.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import torch

#: A launch that takes this many times the usual one was blocked by a full queue.
BLOCKED = 5

#: How the names of a program's own ranges begin.
RANGES = ("policy.", "learn.", "env.", "buffer.", "data.", "advantage")


def write_truth(train: Callable[[Any], float], file: str) -> float:
    """Run `train(span)` under the profiler and write what each range cost; returns its seconds."""
    from torch.profiler import ProfilerActivity, profile, record_function

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as recorded:
        seconds = train(record_function)
    _write(recorded, seconds, file)
    return seconds


def _write(recorded: Any, seconds: float, file: str) -> None:
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


class Count:
    """Counts iterations: a fixed number of them, or until `seconds` have passed."""

    def __init__(self, iterations: int | None, seconds: float | None = None) -> None:
        self.iterations, self.seconds = iterations, seconds
        self.done = 0

    def __iter__(self) -> Iterator[int]:
        begin = time.perf_counter()
        self.done = 0
        while self._more(begin):
            yield self.done
            self.done += 1

    def _more(self, begin: float) -> bool:
        if self.seconds is not None:
            return time.perf_counter() - begin < self.seconds
        return self.done < (self.iterations or 0)

    def report(self, seconds: float, steps: int = 1) -> None:
        """Print the last line of a program: its loop's time and speed, as JSON."""
        done = self.done * steps
        print(json.dumps({"loop_s": seconds, "steps": done, "steps_per_s": done / seconds}))


class Loop(Count):
    """The training loop of a program: times itself, and runs under a full trace with `--truth`."""

    @staticmethod
    def arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--device", default=device_of(None))
        parser.add_argument("--seconds", type=float, default=10.0)
        parser.add_argument("--iterations", type=int, help="instead of --seconds")
        parser.add_argument("--truth", help="write the figures of a full trace to this file")

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options.iterations, None if options.iterations else options.seconds)
        self.truth: str | None = options.truth
        self.cuda = options.device.startswith("cuda")
        self.loop_s = 0.0
        plain = contextlib.nullcontext()
        self.span: Callable[[str], Any] = lambda name: plain
        if self.truth:
            self.span = torch.profiler.record_function

    def __iter__(self) -> Iterator[int]:
        from torch.profiler import ProfilerActivity, profile

        self._synchronize()
        activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
        with profile(activities=activities) if self.truth else contextlib.nullcontext() as recorded:
            begin = time.perf_counter()
            yield from super().__iter__()
            self._synchronize()
            self.loop_s = time.perf_counter() - begin
        if self.truth:
            _write(recorded, self.loop_s, self.truth)

    def _synchronize(self) -> None:
        if self.cuda:
            torch.cuda.synchronize()

    def finish(self, steps: int = 1) -> None:
        self.report(self.loop_s, steps)


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
            elif name.startswith(RANGES):
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
