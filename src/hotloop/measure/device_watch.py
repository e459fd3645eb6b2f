"""The thread that watches a device: short recordings now and then, memory by phase in between.

A recording slows launches while it lasts and stops the program for some milliseconds
when it ends. That cost, not the length, is kept within 1% of the loop's time: a loop with
few, long kernels is recorded for seconds, one with many tiny kernels for hundredths of a second.
Each recording begins in the phase with the least recorded time for its share: figures are
kept per call, so recordings need not be random. A failure here ends the recordings, is
reported, and never reaches the program.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from time import perf_counter_ns, thread_time_ns, time_ns
from typing import Any, Protocol

from hotloop.capture import schema
from hotloop.capture.schema import Gpu, Notes
from hotloop.capture.slices import SLICE
from hotloop.capture.window import add_device
from hotloop.measure.activity import CALLS, Activity, Call, RecordedWork, attribute, seen_share
from hotloop.measure.own_threads import Flag, OwnThread, in_own_thread
from hotloop.measure.profiler import Profiler
from hotloop.phases import is_of_thread, name_at, names_of

#: Share of the loop's time that recordings may cost, reading them included. Time in the phase
#: `wait` is not counted.
BUDGET = 0.01
#: Seconds that recordings may cost beyond that share, so that a run of ten seconds has some.
CREDIT_S = 0.15
#: Loop time before the first recording: kernels are loaded and caches warmed in it.
WARM_UP_S = 0.5
#: Length of a recording. The first one only measures the number of events per second; from
#: then on a recording is as long as `MOST_EVENTS` allow, so that it spans whole iterations.
FIRST_S, LONGEST_S = 0.015, 2.0
#: What one driver call costs more while it is recorded (H200: a launch of 4 to 6 µs takes a quarter
#: longer).
SLOWER_CALL_S = 1.5e-6
#: Pause between recordings in `full` mode, in which the driver's tracer can stop.
FULL_S, PAUSE_S = 0.25, 0.25
#: What a recording costs (H200: 10 ms to start, 5 µs per event to stop and 8 µs to read).
START_COST_S, EVENT_COST_S = 0.02, 15e-6
#: Maximum number of events per recording: the program is stopped while they are read.
MOST_EVENTS = 6000
#: Seconds between readings of device memory, and between checks whether a device is in use.
TICK_S, IDLE_TICK_S = 0.1, 1.0
#: From this share of the loop on, a recording waits until the program is in a phase. The main
#: thread's position is polled at this interval, for at most this long.
WORTH, POLL_S, PATIENCE_S = 0.01, 0.003, 0.3
#: Recordings in a row without any activity after which the report says so.
MOST_EMPTY = 4
#: Share of a recording's launches whose work must be in it too.
ENOUGH_SEEN = 0.9
#: Slices kept during a recording.
ROOM = 200_000
#: After this many failures, stop recording.
MOST_FAILURES = 2
#: How long the program's exit waits for a recording to end.
LONGEST_END_S = 10.0
#: A tracer may take this long to detach, and then detaches at the next call of the driver.
DETACH_S, DETACH_TICK_S = 0.3, 0.02

OFF, WINDOWS, FULL = MODES = ("off", "windows", "full")


class Device(Protocol):
    """What the watch needs of a framework's device."""

    name: str

    def in_use(self) -> bool: ...

    def records(self) -> str | None:
        """None if activity can be recorded; otherwise why not, for the report."""

    def risk(self) -> str | None:
        """Why a recording could harm the program, for the report: `full` mode records anyway."""

    def prepare(self) -> None:
        """Once, in the program's own thread, before the first recording."""

    def start(self) -> None: ...

    def settle(self) -> None:
        """Wait for launched work: it is recorded only after it has run."""

    def stop(self, to_clock_ns: int) -> list[Activity]: ...

    def call_driver(self) -> None:
        """Make a call that costs nothing: the tracer detaches at the first one after it stopped."""

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
        clock: Callable[[], int] = perf_counter_ns,
    ) -> None:
        self._profiler = profiler
        self._devices = devices
        self._mode = mode
        self._clock = clock
        self._stop = Flag()
        self._thread: OwnThread | None = None
        self._recording = threading.Lock()
        self._preparing = self._prepared = False
        #: A separate random generator, so that the program's random numbers do not change.
        self._random = random.Random(os.getpid())
        self.device: Device | None = None
        #: Nanoseconds that recordings and their reading took.
        self.spent_ns = 0
        self.recordings = 0
        self.recorded_ns = 0
        self._next_cost_ns = int(START_COST_S * 1e9)
        self._events_next = 0.0
        self._length_s = FIRST_S
        self._failures = self._empty = 0
        self._idle_ns = self._ended_ns = 0
        self._tracer: Device | None = None
        #: Own time of each node as the loop began, and how much of it has been recorded since.
        self._before: dict[str, int] = {}
        self._known: dict[str, int] = {}
        self.remarks: list[str] = []
        #: Node -> peak bytes (allocated, reserved) while it was the innermost.
        self.peaks: dict[int, list[int]] = {}

    # -- life --

    def begin(self) -> None:
        """Start the watching thread when the training loop begins."""
        if self._mode == OFF or self._thread is not None:
            return
        self._stop.clear()
        self._before = self._profiler.own_times()
        self.prepare()
        self._thread = OwnThread(self._step, IDLE_TICK_S)
        self._thread.start()

    def prepare(self) -> None:
        """Prepare recordings, in the main thread, once a device is in use."""
        if self._mode == OFF or self._prepared or self._preparing or not _in_main_thread():
            return
        self._preparing = True
        try:
            device = next((d for d in self._devices if d.in_use()), None)
            if device is not None:
                self._prepared = True
                if self._why_not(device) is None:
                    device.prepare()
                    # In this order: the watching thread reads both.
                    self._ended_ns = self._clock()
                    self._tracer = device
        except Exception:
            pass  # fails again later, where errors are reported
        finally:
            self._preparing = False

    def end(self) -> None:
        """Stop at the end of the program: no recording may outlive it."""
        self._stop.set()
        if self._thread is not None and not self._thread.is_current:
            self._thread.wake()
            self._thread.join(LONGEST_END_S)
        self._detach()

    def _detach(self) -> None:
        """Let a stopped tracer detach from a program that makes no more calls of the driver.

        Kineto leaves a thread behind that waits for such a call. If none comes, the process hangs
        when it exits.
        """
        pause = Flag()
        for _ in range(int(DETACH_S / DETACH_TICK_S)):
            if self._tracer is None:
                break
            self._call_driver()
            pause.wait(DETACH_TICK_S)

    def _call_driver(self) -> None:
        tracer = self._tracer
        if tracer is None:
            return
        if self._clock() - self._ended_ns > DETACH_S * 1e9:
            self._tracer = None
        try:
            tracer.call_driver()
        except Exception:
            self._tracer = None  # the device was lost

    def after_fork(self) -> None:
        """In a forked child: the thread is the parent's."""
        self._thread, self._recording = None, threading.Lock()
        self.device = self._tracer = None
        self.peaks = {}
        self.spent_ns = self.recordings = self.recorded_ns = 0

    def give_way(self) -> None:
        """Give way to the program: it starts the framework's profiler, and there is only one."""
        if self._preparing or in_own_thread():
            return
        with self._recording:
            if self._mode != OFF and self._failures < MOST_FAILURES:
                self._failures = MOST_FAILURES
                self.remarks.append(
                    "The program uses the framework's profiler itself: from then on hotloop "
                    "recorded no device activity."
                )

    def notes(self) -> dict[str, Any]:
        """The notes on the device."""
        device = self.device
        if device is None:
            return {}
        about = {
            Gpu.name: device.name,
            Gpu.mode: self._mode,
            Gpu.remarks: list(self.remarks),
            **device.about(),
        }
        paths = self._profiler.paths
        peaks = {paths[node]: list(p) for node, p in list(self.peaks.items()) if node < len(paths)}
        return {Notes.gpu: about, **({Notes.gpu_sampled_peaks: peaks} if peaks else {})}

    # -- the thread --

    def _step(self) -> float | None:
        if self._stop.wait(0):
            return None
        try:
            self._tick()
        except Exception as error:
            self.remarks.append(f"The device could not be watched: {_short(error)}.")
            return None
        return TICK_S if self.device is not None else IDLE_TICK_S

    def _tick(self) -> None:
        if self.device is None:
            self.device = next((d for d in self._devices if d.in_use()), None)
            if self.device is None:
                return
        self._call_driver()
        self._read_memory(self.device)
        if self._failures < MOST_FAILURES:
            # Asked each time: another framework may have begun to use the device.
            why = self._why_not(self.device)
            if why is not None:
                self._failures = MOST_FAILURES
                self.remarks.append(why)
        if self._failures < MOST_FAILURES and self._due():
            if self._mode == WINDOWS:
                self._await_phase()
            self._record(self.device)

    def _why_not(self, device: Device) -> str | None:
        return device.records() or (device.risk() if self._mode != FULL else None)

    def _due(self) -> bool:
        if self._mode == FULL:
            return self._clock() - self._ended_ns >= PAUSE_S * 1e9
        began = self._profiler.core.loop_first
        if not began:
            return False
        elapsed = self._clock() - began
        if elapsed < WARM_UP_S * 1e9 or self._imports():
            return False
        # The jitter keeps recordings from synchronizing with the program.
        wanted = self.spent_ns + self._next_cost_ns * (1 + 0.2 * self._random.random())
        wanted -= CREDIT_S * 1e9
        if wanted > BUDGET * elapsed:
            return False
        # Recordings do not slow a program down while it waits for other processes.
        waited = sum(ns for path, ns in self._since_begin().items() if name_at(path) == "wait")
        return wanted <= BUDGET * (elapsed - waited)

    def _imports(self) -> bool:
        """Whether the program imports: that holds the GIL, so a recording takes long to start."""
        node, paths = self._profiler.core.main_node(), self._profiler.paths
        return node < len(paths) and "import" in names_of(paths[node])

    def _since_begin(self) -> dict[str, int]:
        """Own time of each node since the loop began, up to the last window."""
        times = self._profiler.own_times()
        return {
            path: ns - self._before.get(path, 0)
            for path, ns in times.items()
            if not is_of_thread(path)
        }

    def _await_phase(self) -> None:
        """Wait briefly until the program is in the phase with the least recorded time."""
        wanted = self._least_recorded()
        paths, core = self._profiler.paths, self._profiler.core
        due = self._clock() + int(PATIENCE_S * 1e9)
        while wanted and self._clock() < due and not self._stop.wait(POLL_S):
            node = core.main_node()
            if node < len(paths) and paths[node] == wanted:
                return

    def _least_recorded(self) -> str:
        """The phase with the least recorded time for its share of the loop; empty if none is."""
        since = self._since_begin()
        whole = sum(since.values())
        # A program that waits for others launches nothing.
        worth = {
            path: ns / (self._known.get(path, 0) + 1e6)
            for path, ns in since.items()
            if path and ns >= WORTH * whole and name_at(path) != "wait"
        }
        return max(worth, key=lambda path: worth[path], default="")

    def _read_memory(self, device: Device) -> None:
        node = self._profiler.core.main_node()
        memory = device.memory()
        if memory is None:
            return
        gauges = self._profiler.gauges
        gauges[schema.GPU_ALLOCATED], gauges[schema.GPU_RESERVED] = memory
        low = gauges.get(schema.GPU_ALLOCATED_LOW, memory[0])
        gauges[schema.GPU_ALLOCATED_LOW] = min(low, memory[0])
        known = self.peaks.setdefault(node, [0, 0])
        known[0], known[1] = max(known[0], memory[0]), max(known[1], memory[1])

    # -- a recording --

    def _record(self, device: Device) -> None:
        begun = self._clock()
        try:
            with self._recording:
                self._record_once(device)
        except Exception as error:
            self._failures += 1
            if self._failures >= MOST_FAILURES:
                self.remarks.append(f"Device activity could not be recorded: {_short(error)}.")
        finally:
            # By the clock, not by this thread's own time: a launch may wait for the driver, which
            # is busy starting and stopping.
            self._tracer, self._ended_ns = device, self._clock()
            cost = self._ended_ns - begun - self._idle_ns
            self._idle_ns = 0
            self.spent_ns += cost
            self._profiler.gauges[schema.GPU_SPENT_S] = self.spent_ns / 1e9
            # The first one also loads the driver's tracer, so its cost does not predict the next.
            self._next_cost_ns = int((START_COST_S + self._events_next * EVENT_COST_S) * 1e9)

    def _record_once(self, device: Device) -> None:
        core = self._profiler.core
        seconds = FULL_S if self._mode == FULL else self._length_s
        before = thread_time_ns()
        device.start()
        lent = self._profiler.lend_trace(ROOM)
        # What is open is cut at both ends, and calls are counted between them; the recorder may
        # close a window meanwhile.
        before_calls = self._close()
        core.slices()
        begin = self._clock()
        self._stop.wait(seconds)
        end = self._clock()
        self._idle_ns += end - begin  # the program runs on, a little slower: see below
        own = thread_time_ns() - before
        try:
            calls = self._close()
            packed, lost = core.slices()
        finally:
            self._profiler.give_trace_back(lent)
        # Waiting for the device does not delay the program, even if it uses a core.
        settling = self._clock()
        device.settle()
        self._idle_ns += self._clock() - settling
        before = thread_time_ns()
        activities = device.stop(self._clock() - time_ns())
        self._idle_ns -= int(SLOWER_CALL_S * 1e9 * sum(a.kind in CALLS for a in activities))
        if activities and not lost and self._is_complete(activities):
            counted = {
                path: max(count - before_calls.get(path, 0), 0) for path, count in calls.items()
            }
            self._keep(attribute(activities, self._calls(packed), begin, end, counted))
        self._note_empty(not activities)
        with self._profiler.lock:
            self._profiler.device_ns += own + thread_time_ns() - before
        self.recordings += 1
        self.recorded_ns += end - begin
        gauges = self._profiler.gauges
        gauges[schema.GPU_STRETCHES] = self.recordings
        gauges[schema.GPU_RECORDED_S] = self.recorded_ns / 1e9
        self._fit_length(len(activities), seconds)

    def _close(self) -> dict[str, int]:
        """Close a window and return the calls of each node up to that moment."""
        with self._profiler.lock:
            self._profiler.close_window()
            return self._profiler.calls()

    def _keep(self, found: RecordedWork) -> None:
        with self._profiler.lock:
            add_device(self._profiler.device, found.whole)
            add_device(self._profiler.device_parts, found.parts)
        for path, delta in (*found.whole.items(), *found.parts.items()):
            self._known[path] = self._known.get(path, 0) + delta.host_ns

    def _is_complete(self, activities: list[Activity]) -> bool:
        """Whether the launched work was recorded: a recording that lost it must not count."""
        if seen_share(activities) >= ENOUGH_SEEN:
            return True
        text = "Recordings in which launches had no kernels were left out."
        if text not in self.remarks:
            self.remarks.append(text)
        return False

    def _note_empty(self, empty: bool) -> None:
        self._empty = self._empty + 1 if empty else 0
        if self._empty == MOST_EMPTY:
            self.remarks.append(
                f"{MOST_EMPTY} recordings in a row had no device activity: the device was not "
                "used, or its driver does not show it (no permission, another profiler)."
            )

    def _calls(self, packed: bytes) -> list[Call]:
        paths = self._profiler.paths
        return [
            Call(path, begin, end)
            for begin, end, node, _ in SLICE.iter_unpack(packed)
            if not is_of_thread(path := paths[node])
        ]

    def _fit_length(self, events: int, seconds: float) -> None:
        """Make the next recording as long as the maximum number of events allows."""
        fitting = seconds * MOST_EVENTS / max(events, 1)
        self._length_s = min(max(fitting, FIRST_S / 3), LONGEST_S)
        self._events_next = events * self._length_s / seconds


def _in_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident


def _short(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
