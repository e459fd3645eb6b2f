"""The thread that closes a window a second and hands it to the capture.

It sleeps; it wakes once a second; it holds the GIL for about a millisecond. Whatever the disk
does, the training never waits for it: a window that closes in the training's own thread (as the
loop begins) is written by this one, and no lock is held while a disk takes its time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from hotloop.capture.window import Window, merged
from hotloop.capture.writer import ShardWriter, warn
from hotloop.masking import mask_all
from hotloop.measure.profiler import Profiler

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

WINDOW_SECONDS = 1.0
#: A disk that takes longer than this at the program's end is taken to hang.
LONGEST_WRITE_SECONDS = 10.0


class Recorder:
    """One profiler's way to one shard."""

    def __init__(
        self,
        profiler: Profiler,
        open_shard: Callable[[], ShardWriter],
        interval_s: float = WINDOW_SECONDS,
    ) -> None:
        self._profiler = profiler
        self._open_shard = open_shard
        self._interval_s = interval_s
        self._writer: ShardWriter | None = None
        self._stopped = False
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        #: Windows that are not written yet, and who writes them.
        self._closed: list[Window] = []
        self._writing = threading.RLock()
        self._warned = False
        self._notes: dict[str, Any] = {}
        self._facts: list[Callable[[], dict[str, Any]]] = []
        self._said: dict[str, Any] = {}
        self._stacks_said = 0
        self._every: list[Callable[[], None]] = []
        self._watchers: list[Callable[[Window], None]] = []
        self._spent_ns = 0
        self._cpu_before = time.process_time_ns()
        profiler.on_window(self._keep)

    def open(self) -> None:
        """Make the shard now, so that a folder that cannot be written is known at once."""
        if self._writer is None:
            self._writer = self._open_shard()

    def start(self) -> None:
        """Begin to close a window a second."""
        self._thread = threading.Thread(target=self._run, name="hotloop-recorder", daemon=True)
        self._thread.start()

    def every_window(self, call: Callable[[], None]) -> None:
        """Also call this before each window closes, in the recorder's thread."""
        self._every.append(call)

    def watch(self, call: Callable[[Window], None]) -> None:
        """Also hand every window that is written to this."""
        self._watchers.append(call)

    def note(self, key: str, value: Any) -> None:
        """A fact for the header that became known later."""
        self._notes[key] = value

    def ask(self, facts: Callable[[], dict[str, Any]]) -> None:
        """Ask for facts as each window closes; what changed joins the header."""
        self._facts.append(facts)

    def finish(self, end: dict[str, Any]) -> bool:
        """Close the last window and the shard; False if the disk does not answer any more."""
        self._stopped = True
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=LONGEST_WRITE_SECONDS)
        self._thread = None
        if not self._writing.acquire(timeout=0):
            # A disk that hangs must not hang the program's exit.
            warn("the disk does not answer; the capture ends with what it has taken so far")
            self._profiler.on_window(None)
            return False
        self._profiler.close_window()
        self._profiler.on_window(None)
        if self._writer is not None:
            self._writer.end(mask_all(end))
            self._writer = None
        self._writing.release()
        return True

    def after_fork(self) -> None:
        """In a forked child: the thread and the open files are the parent's."""
        self._thread = None
        if self._writer is not None:
            self._writer.forget()
            self._writer = None

    def _run(self) -> None:
        due = time.monotonic() + self._interval_s
        while True:
            self._wake.wait(max(due - time.monotonic(), 0))
            self._wake.clear()
            if self._stopped:
                return
            begin = time.thread_time_ns()
            if time.monotonic() >= due:
                for call in self._every:
                    call()
                self._profiler.close_window()
                due = max(due + self._interval_s, time.monotonic())
            self._write_closed()
            self._spent_ns += time.thread_time_ns() - begin

    def _keep(self, window: Window) -> None:
        """A window has closed, in whichever thread: note what is true now, and have it written."""
        if self._writer is None and not self._closed and not _did_something(window):
            return  # a helper process of some library: it has nothing to say
        cpu = time.process_time_ns()
        window.gauges["process_cpu_ns"] = cpu - self._cpu_before
        window.gauges["recorder_ns"] = self._spent_ns
        if resource is not None:
            # Pages that had to come back from disk: memory is short.
            window.gauges["major_faults"] = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
        self._cpu_before, self._spent_ns = cpu, 0
        self._closed.append(window)
        if self._thread is None:
            self._write_closed()
        elif self._thread is not threading.current_thread():
            self._wake.set()

    def _write_closed(self) -> None:
        with self._writing:
            if self._profiler.tracer is not None:
                self._profiler.tracer.write()
            while self._closed and self._can_write():
                self._write(self._closed[0])
                self._closed.pop(0)

    def _can_write(self) -> bool:
        """Whether there is a shard; one that cannot be made is tried again with the next window."""
        try:
            self.open()
        except OSError as error:
            if not self._warned:
                self._warned = True
                warn(f"the capture cannot be written ({error.strerror}); training goes on")
            waiting = self._closed[:]
            whole = merged(waiting)
            assert whole is not None
            self._closed[: len(waiting)] = [whole]  # others may be added meanwhile
            return False
        return True

    def _write(self, window: Window) -> None:
        assert self._writer is not None
        stacks = self._profiler.stacks
        if len(stacks) > self._stacks_said:
            self._writer.stacks(stacks[self._stacks_said :])
            self._stacks_said = len(stacks)
        # What a window refers to is written before it, so that a reader never meets a stranger.
        notes = {**self._notes, **self._profiler.notes()}
        for facts in self._facts:
            notes.update(facts())
        changed = {key: value for key, value in notes.items() if self._said.get(key) != value}
        if changed:
            self._writer.notes(mask_all(changed))
            self._said.update(changed)
        for watch in self._watchers:
            watch(window)
        self._writer.window(window)


def _did_something(window: Window) -> bool:
    """Whether a window has anything but imports in it."""
    return bool(window.counters) or any(
        delta.calls and path.rpartition("/")[2] != "import" for path, delta in window.phases.items()
    )
