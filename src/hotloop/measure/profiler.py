"""The profiler that programs use: regions, counters and their sums.

One global profiler serves `hotloop.profile` and friends. Under `hotloop run`, it is enabled and its
windows go to the capture; otherwise it is disabled until `enable()`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar
from weakref import WeakKeyDictionary

from hotloop import phases as words
from hotloop.capture import schema
from hotloop.capture.device_delta import DeviceDelta
from hotloop.capture.episodes import taken
from hotloop.capture.lines import StackRow, usable
from hotloop.capture.schema import Notes
from hotloop.capture.window import PhaseDelta, Window
from hotloop.masking import mask_shapes
from hotloop.measure import pickling
from hotloop.measure.core import Core, Sampler
from hotloop.measure.memory import MemoryPeaks, MemoryRegion

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from hotloop.measure.trace import Tracer

F = TypeVar("F", bound=Callable[..., Any])


class Reports(Protocol):
    """Renders the figures of a profiler."""

    def summary(self, profiler: Profiler) -> str: ...

    def document(self, profiler: Profiler) -> dict[str, Any]: ...


def _no_reports() -> Reports:
    raise RuntimeError("import hotloop, which provides reports")


class Profiler:
    """Regions and counters of this process; `get_profiler()` returns the shared one."""

    #: Loads the renderers of figures; set by the package, because measuring must not depend on it.
    reports: ClassVar[Callable[[], Reports]] = staticmethod(_no_reports)

    def __init__(self, clock: Callable[[], int] | None = None, shared: bool = False) -> None:
        self._clock = clock or time.perf_counter_ns
        self._shared = shared
        self.core = Core(
            describe=words.flags_of,
            special=self._special,
            clock=clock,
            on_loop=self._on_loop,
            reduce=(pickling.shared_core, ()) if shared else None,
        )
        #: `with profile("name"):`; the core's own method, called without a wrapper.
        self.profile: Callable[..., AbstractContextManager[Any]] = self.core.profile
        self.count: Callable[..., None] = self.core.count
        self.categories: dict[str, str] = {}
        #: Phases that no library named: "inferred" from the order of events, or known by "shape".
        self.recognised: dict[str, str] = {}
        #: Phases that were not measured between stretches.
        self.rested: set[str] = set()
        self.peaks = MemoryPeaks()
        self.sampler: Sampler | None = None
        #: Adds up the rewards of episodes, if environments are stepped.
        self.returns: Any = None
        #: Keeps single calls, with `run --trace`.
        self.tracer: Tracer | None = None
        self.stacks: list[StackRow] = []
        self._sink: Callable[[Window], None] | None = None
        #: Called once, as the training loop begins.
        self.at_loop: list[Callable[[], None]] = []
        #: Current values (a buffer's length), copied into each window when it closes.
        self.gauges: dict[str, float] = {}
        #: Cost of the device watch since the last window, in nanoseconds.
        self.device_ns = 0
        #: Compiled functions that are hooked in place, with what detaches their hooks. They outlive
        #: a run, and the next one in this process hooks them again.
        self.compiled: WeakKeyDictionary[Callable[..., Any], Callable[[], object]]
        self.compiled = WeakKeyDictionary()
        #: Device work of nodes since the last window: whole calls, and parts of calls.
        self.device: dict[str, DeviceDelta] = {}
        self.device_parts: dict[str, DeviceDelta] = {}
        self._lock = threading.RLock()
        self._start_over()

    def _start_over(self) -> None:
        self.origin_ns = self._clock()
        self._paths: list[str] = []
        self._closed = 0
        self._dropped = 0
        self._begin_ns = 0
        self._total = Window(0, -1, 0, 0)

    def __reduce__(self) -> Any:
        if not self._shared:
            raise TypeError("only the global profiler can be pickled")
        return pickling.shared_profiler, ()

    # -- for programs --

    @property
    def enabled(self) -> bool:
        return self.core.enabled

    def enable(self) -> None:
        """Begin to measure. Regions that are open count from now."""
        self.core.enable()

    def disable(self) -> None:
        """Stop measuring. Regions that are open count up to now; regions cost almost nothing."""
        self.core.disable()

    def reset(self) -> None:
        """Forget all figures. Regions that are open count from now."""
        with self._lock:
            self.core.snapshot()
            self.core.forget_loop()
            self.peaks = MemoryPeaks()
            self.stacks = []
            self._start_over()

    def step(self) -> None:
        """An iteration of the training loop has ended."""
        self.core.count(schema.ITERATIONS, 1)

    def profile_function(
        self, name: str | None = None, category: str | None = None, track_memory: bool = False
    ) -> Callable[[F], F]:
        """Time every call of a function, a coroutine function or a generator.

        A coroutine counts from its first step to its end, awaiting included. A generator counts
        while it runs, not while its consumer does; each resumption is a call.
        """
        if callable(name):  # used as @profile_function, without the parentheses
            return self.profile_function()(name)

        from hotloop.measure.timed_functions import timed

        def decorate(function: F) -> F:
            label = name or function.__qualname__
            return timed(  # type: ignore[return-value]
                function, lambda: self.profile(label, category, track_memory)
            )

        return decorate

    def summary(self) -> str:
        """The figures so far, as a table to print."""
        return type(self).reports().summary(self)

    def report(self) -> dict[str, Any]:
        """The figures so far, as `hotloop report --format json` would print them."""
        return type(self).reports().document(self)

    # -- for the recorder --

    def on_window(self, sink: Callable[[Window], None] | None) -> None:
        """Hand every window to `sink` as it closes."""
        self._sink = sink

    def mark(self, name: str, how: str) -> None:
        """Record how a phase was recognized: "inferred" or by "shape".

        A phase whose calls are recognized stays so if a gap around them is inferred to be its too.
        """
        if self.recognised.get(name) != "shape":
            self.recognised[name] = how

    def close_window(self) -> Window:
        """All that happened since the last window."""
        with self._lock:
            now, rows, counters, loop_last = self.core.snapshot()
            self._learn_paths()
            if self.tracer is not None:
                self.tracer.take(now, self._paths)
            window = Window(
                self._closed, self._closed, self._begin_ns, max(now - self.origin_ns, 0)
            )
            for row in rows:
                path, delta = self._paths[row[0]], self._delta(row)
                if path in window.phases:  # names that differ only in what was masked
                    window.phases[path].add(delta)
                else:
                    window.phases[path] = delta
            good = usable(counters)
            window.counters = {mask_shapes(name): value for name, value in good.items()}
            dropped = max(self.core.dropped - self._dropped, 0)
            self._dropped = self.core.dropped
            if damaged := len(counters) - len(good) + dropped:
                window.counters[schema.DAMAGED_VALUES] = damaged
            window.loop_last_ns = max(loop_last - self.origin_ns, 0) if loop_last else 0
            if self.sampler is not None:
                self._take_samples(self.sampler, window)
            if self.returns is not None:
                self._take_returns(window)
            window.gauges.update(self.gauges)
            # Amounts and least values are of one window only.
            for name in schema.PER_WINDOW_GAUGES & self.gauges.keys():
                del self.gauges[name]
            if self.device_ns:
                window.gauges[schema.DEVICE_NS], self.device_ns = self.device_ns, 0
            window.device, self.device = self.device, {}
            window.device_parts, self.device_parts = self.device_parts, {}
            if own_ns := self.core.own():
                window.gauges[schema.HOOKS_NS] = own_ns
            self._closed += 1
            self._begin_ns = window.end_ns
            self._total.add(window)
            if self._sink is not None:
                self._sink(window)
            return window

    @property
    def total(self) -> Window:
        """All closed windows as one."""
        return self._total

    @property
    def lock(self) -> threading.RLock:
        """Held while a window closes."""
        return self._lock

    @property
    def paths(self) -> list[str]:
        """Paths of the nodes that closed windows know, by number."""
        return self._paths

    def own_times(self) -> dict[str, int]:
        """Node -> own time in nanoseconds, up to the last window."""
        with self._lock:
            return {path: delta.self_ns for path, delta in self._total.phases.items()}

    def calls(self) -> dict[str, int]:
        """Node -> calls that ended there, up to the last window."""
        with self._lock:
            return {path: delta.calls for path, delta in self._total.phases.items()}

    def lend_trace(self, room: int) -> bool:
        """Keep slices for a recording; a trace in progress pauses."""
        with self._lock:
            if self.tracer is not None:
                self.tracer.pause(self._clock(), self._paths)
            self.core.trace(room)
            return self.tracer is not None

    def give_trace_back(self, lent: bool) -> None:
        """The slices have been taken: the trace continues."""
        with self._lock:
            self.core.trace(0)
            if lent and self.tracer is not None:
                self.tracer.resume()

    def notes(self) -> dict[str, Any]:
        """What a reader must know about the regions besides their times."""
        notes: dict[str, Any] = {}
        if self.categories:
            notes[Notes.categories] = dict(self.categories)
        if self.recognised:
            notes[Notes.recognised] = dict(self.recognised)
        if self.rested:
            notes[Notes.rested] = sorted(self.rested)
        if self.peaks.cpu_bytes:
            notes[Notes.memory_peaks] = {k: list(v) for k, v in self.peaks.cpu_bytes.items()}
        if self.peaks.gpu_bytes:
            notes[Notes.gpu_memory_peaks] = dict(self.peaks.gpu_bytes)
        if self.core.failures:
            notes[Notes.failures] = dict(self.core.failures)
        return notes

    def leave(self) -> None:
        """After a session, in a process that continues: leave nothing behind."""
        self.sampler = self.returns = None
        self.at_loop.clear()
        self.rested.clear()
        self.gauges.clear()
        self.core.failures.clear()

    def after_fork(self) -> None:
        """In a forked child: the figures so far are the parent's."""
        self._lock = threading.RLock()
        self.core.after_fork()
        if self.sampler is not None:
            self.sampler.after_fork()
        if self.returns is not None:
            self.returns.start_over()
        self._sink = None
        self.tracer = None
        self.gauges, self.device, self.device_parts, self.device_ns = {}, {}, {}, 0
        self.peaks = MemoryPeaks()
        self._start_over()

    # -- inside --

    def _special(
        self, name: str, category: str | None = None, track_memory: bool = False
    ) -> AbstractContextManager[Any]:
        region = self.core.region(name)
        if category is not None:
            self.categories[name] = category
        return MemoryRegion(region, self.peaks) if track_memory else region

    def _on_loop(self) -> None:
        begin = self._clock()
        for call in self.at_loop:
            call()
        # Before the window closes, because everything up to then is counted in it.
        self.core.skip(self._clock() - begin)
        # Start-up and the training loop never share a window.
        if self._sink is not None:
            begin = self._clock()
            self.close_window()
            self.core.skip(self._clock() - begin)

    def _learn_paths(self) -> None:
        for _, parent, name, root in self.core.nodes(len(self._paths)):
            if name is None:
                path = f"{words.THREAD}{root}" if root else ""
            else:
                above = self._paths[parent]
                own = words.path_of([mask_shapes(name)])
                path = f"{above}/{own}" if above else own
            self._paths.append(path)

    def _delta(self, row: tuple[Any, ...]) -> PhaseDelta:
        _, calls, self_ns, elapsed, low, high, flat, first, last, resident = row
        return PhaseDelta(
            calls,
            self_ns,
            elapsed,
            low,
            high,
            resident,
            max(first - self.origin_ns, 0) if first else 0,
            max(last - self.origin_ns, 0) if last else 0,
            dict(zip(flat[::2], flat[1::2], strict=True)),
        )

    def _take_samples(self, sampler: Sampler, window: Window) -> None:
        samples, stacks, cost, resident, peak = sampler.drain()
        self.stacks.extend(StackRow(*row) for row in stacks)
        for node, stack, mode, count, ns in samples:
            window.samples[self._paths[node], stack, mode] = [count, ns]
        window.gauges[schema.SAMPLER_NS] = cost
        figures = sampler.figures()
        window.gauges[schema.SAMPLER_CPU_S] = figures["cpu_ns"] / 1e9
        window.gauges[schema.SAMPLES_DROPPED] = figures["dropped"]
        if resident:
            window.gauges[schema.RESIDENT] = resident
            window.gauges[schema.RESIDENT_PEAK] = peak

    def _take_returns(self, window: Window) -> None:
        window.episodes = taken(self.returns.take())
        recent = self.returns.recent()
        if recent is not None:
            mean, best, best_ns = recent
            window.gauges[schema.RETURN_RECENT] = mean
            if best is not None:
                window.gauges[schema.RETURN_BEST] = best
                window.gauges[schema.RETURN_BEST_S] = max(best_ns - self.origin_ns, 0) / 1e9
