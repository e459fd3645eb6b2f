"""The thread that closes a window every second and hands it to the capture.

It wakes once a second and holds the GIL for about a millisecond. The program never waits for the
disk: a window that closes in the program's own thread (when the loop begins) is written by this
thread, and no lock is held during a write. A bad item costs only that item.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic, process_time_ns, thread_time_ns
from typing import Any

from hotloop.capture import schema
from hotloop.capture.window import Window, merged
from hotloop.capture.writer import ShardWriter, warn
from hotloop.masking import mask_all
from hotloop.measure.own_threads import OwnThread
from hotloop.measure.profiler import Profiler
from hotloop.phases import name_at

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

WINDOW_SECONDS = 1.0
#: A disk that takes longer than this at the program's end is considered hung.
LONGEST_WRITE_SECONDS = 10.0


class Recorder:
    """Moves one profiler's windows into one shard."""

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
        #: The shard's end line, once the process ends.
        self._end: dict[str, Any] | None = None
        self._closed = False
        self._due = 0.0
        self._thread: OwnThread | None = None
        #: Windows that are not written yet, and the lock for writing them.
        self._waiting: list[Window] = []
        self._writing = threading.RLock()
        self._warned = False
        self._notes: dict[str, Any] = {}
        self._note_sources: list[Callable[[], dict[str, Any]]] = []
        self._written_notes: dict[str, Any] = {}
        self._written_stacks = 0
        self._every: list[Callable[[], None]] = []
        self._watchers: list[Callable[[Window], None]] = []
        self._spent_ns = 0
        self._cpu_before = process_time_ns()
        profiler.on_window(self._keep)

    def open(self) -> None:
        """Create the shard now, so that a folder without write permission fails at once."""
        if self._writer is None:
            self._writer = self._open_shard()

    def start(self) -> None:
        """Start to close a window every second."""
        self._due = monotonic() + self._interval_s
        self._thread = OwnThread(self._tick, self._interval_s)
        self._thread.start()

    def every_window(self, call: Callable[[], None]) -> None:
        """Also call this before each window closes, in the recorder's thread."""
        self._every.append(call)

    def watch(self, call: Callable[[Window], None]) -> None:
        """Also pass every window that is written to this."""
        self._watchers.append(call)

    def note(self, key: str, value: Any) -> None:
        """Record a fact for the header that became known later."""
        self._notes[key] = value

    def ask(self, notes: Callable[[], dict[str, Any]]) -> None:
        """Call this when each window closes; changes are added to the header."""
        self._note_sources.append(notes)

    def finish(self, end: dict[str, Any]) -> bool:
        """Close the last window and the shard; return False if the disk hangs."""
        self._end = end
        if self._thread is not None and not self._thread.is_current:
            self._thread.wake()
            # The recorder's thread writes: a disk that hangs must not hang the program's exit.
            if not self._thread.join(LONGEST_WRITE_SECONDS):
                warn("the disk does not respond; the capture ends with what was written so far")
                self._profiler.on_window(None)
                return False
            self._thread = None
        self._close()
        return True

    def discard(self) -> None:
        """Record nothing of this process."""
        self._closed = True
        self._profiler.on_window(None)

    def after_fork(self) -> None:
        """In a forked child: the thread and the open files are the parent's."""
        self._thread = None
        if self._writer is not None:
            self._writer.forget()
            self._writer = None

    def _tick(self) -> float | None:
        """Close a window if it is time, write pending data, and return how long to pause."""
        if self._end is not None:
            self._close()
            return None
        begin = thread_time_ns()
        if monotonic() >= self._due:
            for call in self._every:
                self._guarded("a call at each window", call)
            self._guarded("a window", self._profiler.close_window)
            self._due = max(self._due + self._interval_s, monotonic())
        self._guarded("writing windows", self._write_waiting)
        self._spent_ns += thread_time_ns() - begin
        return self._due - monotonic()

    def _close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._guarded("the last window", self._profiler.close_window)
        self._profiler.on_window(None)
        self._guarded("writing windows", self._write_waiting)
        writer, self._writer = self._writer, None
        if writer is not None:
            self._guarded("the end", writer.end, mask_all(self._end))

    def _guarded(self, what: str, call: Callable[..., object], *args: Any) -> None:
        """Call it; an error is noted for the report and costs nothing else."""
        try:
            call(*args)
        except Exception as error:
            self._profiler.core.failures[f"recorder: {what}"] = repr(error)

    def _keep(self, window: Window) -> None:
        """Queue a window, closed in any thread, with the current notes."""
        if self._writer is None and not self._waiting and not _did_something(window):
            return  # a helper process of some library: nothing to record
        cpu = process_time_ns()
        window.gauges[schema.PROCESS_CPU_NS] = cpu - self._cpu_before
        window.gauges[schema.RECORDER_NS] = self._spent_ns
        if resource is not None:
            # Pages that had to come back from disk: memory is short.
            window.gauges[schema.MAJOR_FAULTS] = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
        self._cpu_before, self._spent_ns = cpu, 0
        self._waiting.append(window)
        if self._thread is None:
            self._write_waiting()
        elif not self._thread.is_current:
            self._thread.wake()

    def _write_waiting(self) -> None:
        with self._writing:
            if self._profiler.tracer is not None:
                self._profiler.tracer.write()
            while self._waiting and self._can_write():
                self._write(self._waiting.pop(0))

    def _can_write(self) -> bool:
        """Whether there is a shard; if it cannot be created, the next window tries again."""
        try:
            self.open()
        except OSError as error:
            if not self._warned:
                self._warned = True
                warn(f"the capture cannot be written ({error.strerror}); training continues")
            waiting = self._waiting[:]
            whole = merged(waiting)
            assert whole is not None
            self._waiting[: len(waiting)] = [whole]  # others may be added meanwhile
            return False
        return True

    def _write(self, window: Window) -> None:
        writer = self._writer
        assert writer is not None
        # Stacks that a window refers to are written before it, so that a reader can resolve them.
        self._guarded("stacks", self._write_stacks, writer)
        self._write_notes(writer)
        for watch in self._watchers:
            self._guarded("a watcher of windows", watch, window)
        self._guarded("a window", writer.window, window)

    def _write_stacks(self, writer: ShardWriter) -> None:
        stacks = self._profiler.stacks
        if len(stacks) > self._written_stacks:
            new, self._written_stacks = stacks[self._written_stacks :], len(stacks)
            writer.stacks(new)

    def _write_notes(self, writer: ShardWriter) -> None:
        notes = dict(self._notes)
        for source in (self._profiler.notes, *self._note_sources):
            self._guarded("notes", lambda source: notes.update(source()), source)
        changed: dict[str, Any] = {}
        for key, value in notes.items():
            self._guarded(f"the note {key}", self._compare, key, value, changed)
        if not changed:
            return
        try:
            writer.notes(changed)
        except (TypeError, ValueError):  # one of them is not JSON: write the others
            for key, value in changed.items():
                self._guarded(f"the note {key}", writer.notes, {key: value})

    def _compare(self, key: str, value: Any, changed: dict[str, Any]) -> None:
        if self._written_notes.get(key) != value:
            changed.update(mask_all({key: value}))
            self._written_notes[key] = value


def _did_something(window: Window) -> bool:
    """Whether a window has anything but imports and waiting in it."""
    return bool(window.counters) or any(
        delta.calls and name_at(path) not in ("import", "wait")
        for path, delta in window.phases.items()
    )
