"""Telemetry: what rules need besides times (threads, networks, limits, expensive calls).

Frequent events are counters, states are gauges, and facts that hardly ever change are notes, all
declared in `capture/schema.py`. A value is either read once per window by the recorder's thread, or
counted in a call that takes far longer than the counting. An error is recorded and never reaches
the program.
"""

from __future__ import annotations

import functools
import gc
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from hotloop.capture import schema
from hotloop.capture.schema import Machine, Notes
from hotloop.hooks.program.files import is_program_file
from hotloop.hooks.protocols import Foreign, Function, Undo, Wrapper
from hotloop.hooks.telemetry.calling_lines import CallingLines, calling_line
from hotloop.hooks.wrapping import put_hook
from hotloop.measure import machine

if TYPE_CHECKING:
    from hotloop.hooks.context import HookContext

T = TypeVar("T")
FoundNotes = Mapping[str, object]

#: Modules with telemetry of their own, and the file of this room that has it.
SOURCES: dict[str, str] = {
    "torch": "torch",
    "keras": "keras",
    "tensorflow": "tensorflow",
}

#: Counters of calls of `gc.collect` and of their seconds.
_GC_COLLECT = (schema.GC_COLLECTS, schema.GC_COLLECT_S)


class Telemetry:
    """All telemetry of one run in this process."""

    def __init__(self, context: HookContext) -> None:
        self.context = context
        self.count = context.core.count
        self.lines = CallingLines()
        self._waiting = dict(SOURCES)
        #: What a library's file adds: reads once per window, notes, and a last read.
        self._reads: list[Callable[[], None]] = []
        self._notes: list[Callable[[], FoundNotes]] = []
        self._last_reads: list[Callable[[], None]] = []
        self._machine = machine_note()
        self._at_start = machine.throttling()
        self._dropped: set[str] = set()

    def install(self) -> None:
        """Hook the interpreter now, and libraries when they are imported."""
        undo = self.context.undo
        self.context.on_import.append(self._imported)
        undo.append(put_hook(gc, "collect", self.expensive(_GC_COLLECT, schema.CALL_GC_COLLECT)))
        undo.append(put_hook(warnings, "_showwarnmsg", self._read_warnings))

    def add(
        self,
        read: Callable[[], None] | None = None,
        notes: Callable[[], FoundNotes] | None = None,
        undo: Undo | None = None,
        last_read: Callable[[], None] | None = None,
    ) -> None:
        """Add the telemetry of a library's file."""
        if read is not None:
            self._reads.append(read)
        if notes is not None:
            self._notes.append(notes)
        if undo is not None:
            self.context.undo.append(undo)
        if last_read is not None:
            self._last_reads.append(last_read)

    def end(self) -> None:
        """At the end of the program: read rarely read values once more, and the scheduler.

        The last window may be most of a short loop.
        """
        for read in (self._scheduler, *self._last_reads):
            self._guard(read)

    def read(self) -> None:
        """Once per window, in the recorder's thread: read values that can be read from outside."""
        for read in (self._scheduler, *self._reads):
            self._guard(read)

    def at_loop(self) -> None:
        """The training loop begins: how long the main thread has used and waited for a core."""
        times = self._guard(machine.run_times)
        if times is not None:
            self.gauge(schema.STARTUP_CPU_S, times.on_core)
            self.gauge(schema.STARTUP_DELAY_S, times.waiting)

    def notes(self) -> dict[str, object]:
        """The notes of the capture; cheap, and equal again unless something changed."""
        found: dict[str, object] = {Notes.machine: self._machine}
        for notes in self._notes:
            found.update(self._guard(notes) or {})
        found.update(self.context.flow.notes())
        lines = self.lines.notes()
        if lines:
            found[Notes.places] = lines
        return found

    @property
    def gauges(self) -> dict[str, float]:
        """Current values; another dictionary after a fork."""
        return self.context.profiler.gauges

    def gauge(self, name: str, value: float) -> None:
        """A current value."""
        self.gauges[name] = value

    def expensive(self, counters: tuple[str, str], what: str) -> Wrapper:
        """Count and time a function that takes far longer than that, and note its source lines.

        `counters` are the names for calls and for seconds.
        """

        def wrapper(original: Function) -> Function:
            @functools.wraps(original)
            def call(*args: object, **kwargs: object) -> object:
                begin = perf_counter()
                try:
                    return original(*args, **kwargs)
                finally:
                    self.count(counters[0], 1)
                    self.count(counters[1], perf_counter() - begin)
                    self.context.guard(what, self.lines.note, what)

            return call

        return wrapper

    # -- inside --

    def _imported(self, name: str) -> None:
        source = self._waiting.get(name)
        module = sys.modules.get(name)
        if source is None or module is None:
            return
        if getattr(getattr(module, "__spec__", None), "_initializing", False):
            return  # a part of it was imported by itself; the whole comes later
        del self._waiting[name]
        import_module(f"hotloop.hooks.telemetry.{source}").install(self)

    def _scheduler(self) -> None:
        gauges = self.gauges
        times = machine.run_times()
        if times is not None:
            gauges[schema.MAIN_CPU_S], gauges[schema.MAIN_DELAY_S] = times.on_core, times.waiting
            gauges[schema.RUN_DELAY_S] = times.all_waiting
        if self._at_start is not None:
            now = machine.throttling()
            if now is not None:
                gauges[schema.THROTTLED_S] = now.seconds - self._at_start.seconds
                gauges[schema.THROTTLED_PERIODS] = now.throttled - self._at_start.throttled
                gauges[schema.QUOTA_PERIODS] = now.periods - self._at_start.periods

    def _read_warnings(self, show: Function) -> Function:
        """Warnings that name the line of an expensive call; each is shown as before."""

        @functools.wraps(show)
        def show_warning(message: Foreign) -> None:
            self.context.guard("a warning", self._read_warning, message)
            show(message)

        return show_warning

    def _read_warning(self, message: Foreign) -> None:
        text = str(message.message)
        for beginning, what in _WARNINGS.items():
            line = calling_line() if text.startswith(beginning) else None
            if line is not None:
                self.lines.add(what, line)
                if not is_program_file(message.filename):
                    # The warning names the program's line too, not the hook.
                    message.filename, message.lineno, _ = line
                    message.line = None

    def _guard(self, call: Callable[[], T]) -> T | None:
        """A value that cannot be read is dropped for the rest of the run."""
        key = getattr(call, "__qualname__", repr(call))
        if key in self._dropped:
            return None
        try:
            return call()
        except Exception as error:
            self._dropped.add(key)
            self.context.failures[f"telemetry {key}"] = repr(error)
            return None


#: How a warning begins, and the kind of call that it is about: torch warns once per such line.
_WARNINGS = {"Creating a tensor from a list of numpy.ndarrays": schema.CALL_LIST_TENSOR}


def machine_note() -> dict[str, object]:
    """What never changes: cores, limits, memory, accelerators."""
    return {
        Machine.cores: machine.affinity_cores(),
        Machine.quota_cores: machine.quota_cores(),
        Machine.memory_bytes: machine.memory_bytes(),
        Machine.memory_limit: machine.memory_limit(),
        Machine.accelerators: machine.accelerators(),
    }
