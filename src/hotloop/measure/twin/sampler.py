"""Sampler: which lines run in which phase, sampled by a separate thread."""

from __future__ import annotations

import sys
import threading
import time
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from hotloop.capture.sample_modes import MODE_PYTHON, MODE_UNKNOWN, MODE_WAITING
from hotloop.measure.own_threads import OwnThread
from hotloop.measure.twin.stacks import MAX_ROOTS, Node
from hotloop.phases import REGION_SHALLOW

if TYPE_CHECKING:
    from hotloop.measure.twin.core import Core

MAX_DEPTH = 128
SHALLOW_DEPTH = 12
#: How long the program's end waits for a sample that is being taken.
LONGEST_TICK_S = 2.0
MAX_STACKS = 1 << 16


class Sampler:
    """Samples the stacks of a process and the phase that each is in, from a Python thread."""

    def __init__(self, core: Core, interval_ns: int, root_code: CodeType | None = None) -> None:
        self._core = core
        self._interval_s = interval_ns / 1e9
        self._root_code = root_code
        self._stopped = False
        self._last_ns = self._last_cpu = 0
        self._thread: OwnThread | None = None
        self._stacks: dict[tuple[int, CodeType, int], int] = {}
        self._reset()

    def _reset(self) -> None:
        self._samples: dict[tuple[int, int, int], list[int]] = {}
        self._new_stacks: list[tuple[int, int, str, str, int, int]] = []
        self._cost_ns = 0
        self._resident = self._resident_peak = 0

    def start(self) -> None:
        """Begin to sample; called in the main thread."""
        if self._thread is None:
            self._main = threading.get_ident()
            self._cpu_clock = _cpu_clock_of(self._main)
            self._stopped = False
            self._last_ns, self._last_cpu = time.perf_counter_ns(), self._cpu()
            self._thread = OwnThread(self._step, self._interval_s)
            self._thread.start()

    def stop(self) -> None:
        """Stop; samples taken so far can still be drained."""
        if self._thread is not None:
            self._stopped = True
            self._thread.wake()
            self._thread.join(LONGEST_TICK_S)
            self._thread = None

    def after_fork(self) -> None:
        """In a forked child: the thread is gone, and so are the parent's samples."""
        self._thread = None
        self._reset()

    def drain(self) -> tuple[list[tuple[int, int, int, int, int]], list[Any], int, int, int]:
        """Samples since the last drain; see the native sampler's."""
        samples, stacks, cost = self._samples, self._new_stacks, self._cost_ns
        resident, peak = self._resident, self._resident_peak
        self._reset()
        self._resident = self._resident_peak = resident
        rows = [(*key, count, ns) for key, (count, ns) in samples.items()]
        return rows, stacks, cost, resident, peak

    def figures(self) -> dict[str, Any]:
        """Figures since the start; see the native sampler's."""
        limits = (
            "Functions were sampled with the GIL held (no native core): lines that release it "
            "appear too often, and Python is not separated from native code."
        )
        return {"taken": 0, "torn": 0, "dropped": 0, "cpu_ns": self._cost_ns, "limits": limits}

    def _step(self) -> float | None:
        from hotloop.measure.memory import resident_bytes

        if self._stopped:
            return None
        begin = time.perf_counter_ns()
        cpu, passed = self._cpu(), begin - self._last_ns
        busy = cpu - self._last_cpu > passed / 2 if self._cpu_clock is not None else None
        self._resident = resident_bytes()
        self._resident_peak = max(self._resident, self._resident_peak)
        self._look(passed, busy)
        self._last_ns, self._last_cpu = begin, cpu
        self._cost_ns += time.perf_counter_ns() - begin
        return self._interval_s

    def _cpu(self) -> int:
        return time.clock_gettime_ns(self._cpu_clock) if self._cpu_clock is not None else 0

    def _look(self, ns: int, busy: bool | None) -> None:
        own = threading.get_ident()
        threads = self._core._threads
        for ident, frame in sys._current_frames().items():
            if ident == own:
                continue
            thread = threads.get(ident)
            if ident == self._main:
                node = thread.top if thread is not None else self._core._nodes[0]
                mode = {True: MODE_PYTHON, False: MODE_WAITING, None: MODE_UNKNOWN}[busy]
                up: Node | None = node
                while up is not None:
                    up.resident_peak = max(up.resident_peak, self._resident)
                    up = up.parent
            else:
                node = thread.top if thread is not None else self._core._nodes[MAX_ROOTS - 1]
                mode = MODE_UNKNOWN
            stack = self._intern(frame, bool(node.flags & REGION_SHALLOW))
            if stack:
                entry = self._samples.setdefault((node.id, stack, mode), [0, 0])
                entry[0] += 1
                entry[1] += ns

    def _intern(self, frame: FrameType | None, shallow: bool) -> int:
        frames: list[tuple[CodeType, int]] = []
        while frame is not None and len(frames) < MAX_DEPTH:
            if frame.f_code is self._root_code:
                break
            frames.append((frame.f_code, frame.f_lineno or 0))
            frame = frame.f_back
        stack = 0
        for code, line in reversed(frames[-SHALLOW_DEPTH:] if shallow else frames):
            known = self._stacks.get((stack, code, line))
            if known is None:
                known = len(self._stacks) + 1
                if known >= MAX_STACKS:
                    return stack
                self._stacks[stack, code, line] = known
                name = getattr(code, "co_qualname", code.co_name)
                self._new_stacks.append(
                    (known, stack, code.co_filename, name, code.co_firstlineno, line)
                )
            stack = known
        return stack


def _cpu_clock_of(ident: int) -> int | None:
    """The clock of one thread's CPU time, if the system has one."""
    get = getattr(time, "pthread_getcpuclockid", None)
    try:
        return get(ident) if get is not None else None
    except OSError:
        return None
