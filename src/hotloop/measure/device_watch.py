"""The thread that watches a device: short recordings now and then, memory by phase in between.

A recording ("stretch") slows the program while it lasts and stops it for some milliseconds as it
ends, so all of them together, with the work of reading them, stay within a hundredth of the loop's
time. They begin at moments that have nothing to do with what the program is doing: each phase is
met as often as its time says. Whatever fails here ends the recordings, is said in the report, and
never reaches the program.
"""

from __future__ import annotations

import os
import random
import struct
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from hotloop.measure.activity import Activity, Call, attribute
from hotloop.measure.profiler import Profiler

#: Share of the loop's time that recordings may take, their reading included.
BUDGET = 0.01
#: How long a recording is: the first is short, so that a run of a few seconds has one too.
FIRST_S, LENGTH_S = 0.015, 0.04
#: In `full` mode they follow each other.
FULL_S = 0.25
#: What one takes beside its length until that has been measured (H200: prepare 10 ms, stop and
#: read 8 µs an event).
FIRST_COST_S = 0.04
#: Events that one recording should not go beyond: the program stands still while they are read.
MOST_EVENTS = 6000
#: Between two looks at the memory of a device in use, and at whether one is in use.
TICK_S, IDLE_TICK_S = 0.05, 1.0
#: Slices kept during a recording.
ROOM = 200_000
#: A device that fails this often is left alone.
MOST_FAILURES = 2

OFF, WINDOWS, FULL = MODES = ("off", "windows", "full")

_SLICE = struct.Struct("=QQII")


class Device(Protocol):
    """What the watch needs of a framework's device."""

    name: str

    def in_use(self) -> bool: ...

    def records(self) -> str | None:
        """None if activity can be recorded; otherwise why not, for the report."""

    def start(self) -> None: ...

    def stop(self, to_clock_ns: int) -> list[Activity]: ...

    def memory(self) -> tuple[int, int] | None:
        """Bytes allocated and reserved now."""

    def about(self) -> dict[str, Any]: ...


class DeviceWatch:
    """Watches the first of some devices that the program uses."""

    def __init__(
        self,
        profiler: Profiler,
        devices: list[Device],
        mode: str = WINDOWS,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._profiler = profiler
        self._devices = devices
        self._mode = mode
        self._clock = clock
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._recording = threading.Lock()
        #: Order of recordings: a generator of its own, so that the program's draws stay its own.
        self._random = random.Random(os.getpid())
        self.device: Device | None = None
        #: Nanoseconds that recordings and their reading took.
        self.spent_ns = 0
        self.stretches = 0
        self.recorded_ns = 0
        self._next_cost_ns = int(FIRST_COST_S * 1e9)
        self._length_s = FIRST_S
        self._failures = 0
        self.remarks: list[str] = []
        #: Place -> most bytes (allocated, reserved) that were seen while it was the innermost.
        self.peaks: dict[int, list[int]] = {}

    # -- life --

    def begin(self) -> None:
        """As the training loop begins: watch from a thread of our own."""
        if self._mode == OFF or self._thread is not None:
            return
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, name="hotloop-device", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """The program is over: no recording may outlive it."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=10)

    def after_fork(self) -> None:
        """In a forked child: the thread is the parent's."""
        self._thread, self._recording = None, threading.Lock()
        self.device, self.peaks = None, {}
        self.spent_ns = self.stretches = self.recorded_ns = 0

    def give_way(self) -> None:
        """The program starts the framework's profiler itself: there is only one."""
        if threading.current_thread() is self._thread:
            return
        with self._recording:
            if self._mode != OFF and self._failures < MOST_FAILURES:
                self._failures = MOST_FAILURES
                self.remarks.append(
                    "The program uses the framework's profiler itself: from then on hotloop "
                    "recorded no device activity."
                )

    def notes(self) -> dict[str, Any]:
        """What the capture says of the device."""
        device = self.device
        if device is None:
            return {}
        about = {
            "name": device.name,
            "mode": self._mode,
            "remarks": list(self.remarks),
            **device.about(),
        }
        paths = self._profiler.paths
        peaks = {paths[node]: list(p) for node, p in list(self.peaks.items()) if node < len(paths)}
        return {"gpu": about, **({"gpu_sampled_peaks": peaks} if peaks else {})}

    # -- the thread --

    def _run(self) -> None:
        while not self._stop.wait(TICK_S if self.device is not None else IDLE_TICK_S):
            try:
                self._tick()
            except Exception as error:
                self.remarks.append(f"The device could not be watched: {_short(error)}.")
                return

    def _tick(self) -> None:
        if self.device is None:
            self.device = next((d for d in self._devices if d.in_use()), None)
            if self.device is None:
                return
            why = self.device.records()
            if why is not None:
                self._failures = MOST_FAILURES
                self.remarks.append(why)
        self._look_at_memory(self.device)
        if self._failures < MOST_FAILURES and self._due():
            self._record(self.device)

    def _due(self) -> bool:
        if self._mode == FULL:
            return True
        began = self._profiler.core.loop_first
        if not began:
            return False
        elapsed = self._clock() - began
        # The jitter keeps recordings from falling into step with the program.
        wanted = self.spent_ns + self._next_cost_ns * (1 + 0.2 * self._random.random())
        return wanted <= BUDGET * elapsed

    def _look_at_memory(self, device: Device) -> None:
        node = self._profiler.core.main_node()
        memory = device.memory()
        if memory is None:
            return
        gauges = self._profiler.gauges
        gauges["gpu_allocated"], gauges["gpu_reserved"] = memory
        known = self.peaks.setdefault(node, [0, 0])
        known[0], known[1] = max(known[0], memory[0]), max(known[1], memory[1])

    # -- a recording --

    def _record(self, device: Device) -> None:
        begun = self._clock()
        try:
            with self._recording:
                self._stretch(device)
        except Exception as error:
            self._failures += 1
            if self._failures >= MOST_FAILURES:
                self.remarks.append(f"Device activity could not be recorded: {_short(error)}.")
        finally:
            cost = self._clock() - begun
            self.spent_ns += cost
            self._profiler.gauges["gpu_spent_s"] = self.spent_ns / 1e9
            self._next_cost_ns = cost

    def _stretch(self, device: Device) -> None:
        core = self._profiler.core
        seconds = FULL_S if self._mode == FULL else self._length_s
        before = time.thread_time_ns()
        device.start()
        lent = self._profiler.lend_trace(ROOM)
        begin = self._clock()
        self._stop.wait(seconds)
        end = self._clock()
        own = time.thread_time_ns() - before
        # What is open now is cut here, so that it has slices too.
        try:
            self._profiler.close_window()
            packed, lost = core.slices()
        finally:
            self._profiler.give_trace_back(lent)
        before = time.thread_time_ns()
        activities = device.stop(self._clock() - time.time_ns())
        calls = self._calls(packed, end)
        found = attribute(activities, calls, begin, end) if not lost else {}
        with self._profiler.lock:
            for path, delta in found.items():
                known = self._profiler.device.setdefault(path, delta)
                if known is not delta:
                    known.add(delta)
            self._profiler.device_ns += own + time.thread_time_ns() - before
        self.stretches += 1
        self.recorded_ns += end - begin
        gauges = self._profiler.gauges
        gauges["gpu_stretches"] = self.stretches
        gauges["gpu_recorded_s"] = self.recorded_ns / 1e9
        self._fit_length(len(activities), seconds)

    def _calls(self, packed: bytes, end_ns: int) -> list[Call]:
        paths = self._profiler.paths
        return [
            Call(path, begin, end, whole=end < end_ns)
            for begin, end, node, _ in _SLICE.iter_unpack(packed)
            if not (path := paths[node]).startswith("@thread-")
        ]

    def _fit_length(self, events: int, seconds: float) -> None:
        """The next is as long as may be without reading more than enough events."""
        fitting = seconds * MOST_EVENTS / max(events, 1)
        self._length_s = min(max(fitting, FIRST_S / 3), LENGTH_S)


def _short(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
