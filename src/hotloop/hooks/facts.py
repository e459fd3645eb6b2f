"""Facts that rules need beside times: threads, networks, limits, and calls that are costly by kind.

What happens often is a counter, what is a state is a gauge, what hardly ever changes is a note. A
fact is either read once a second by the recorder's thread, or counted where a call takes far longer
than the counting. Nothing here may fail into the program: what goes wrong is noted and dropped.

    counters  gc_collects, gc_collect_s, list_tensors, list_tensor_s, predict_calls, predict_rows,
              predict_s, acts_seen, acts_with_graph, act_graphs_watched, act_graphs_used,
              forwards_with_graph, autocasts, empty_caches, empty_cache_s
    gauges    since the start: main_cpu_s, main_delay_s, run_delay_s, throttled_s,
              throttled_periods, anomaly_s, compiles, compile_s; until the loop began:
              startup_delay_s; as they are now: torch_threads, graphs_alive, subnormals (shares)
    notes     machine, threads, networks, places (of the program, by what is done there)
"""

from __future__ import annotations

import functools
import gc
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from hotloop.hooks.install import Hooks
from hotloop.hooks.program_files import is_program_file
from hotloop.measure import machine
from hotloop.measure.profiler import Profiler

#: Modules that bring facts, and the file of this folder that knows them.
SOURCES: dict[str, str] = {
    "torch": "torch_facts",
    "keras": "keras_facts",
    "tensorflow": "tensorflow_facts",
}

#: Places kept for each kind of call, and calls after which its place is looked up again: who calls
#: a thousand times is found in the first few and in the powers of two.
MOST_PLACES = 4
#: How far up a stack the program is looked for.
_DEEPEST = 40


#: (file, line, function) of the program.
Where = tuple[str, int, str]
#: Lines that are kept of calls of another kind, and stacks whose line is looked for among them.
MOST_ELSEWHERE, MOST_STACKS = 512, 16
#: So many calls of another kind are chance: what a call is for is sometimes a guess.
CHANCE = 1


class Places:
    """Where in the program costly calls come from."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._found: dict[str, dict[Where, int]] = {}
        #: Kind -> the program's lines from the inside out -> calls that came through them.
        self._stacks: dict[str, dict[tuple[Where, ...], int]] = {}
        #: Kind -> line -> calls of another kind that came through it.
        self._elsewhere: dict[str, dict[Where, int]] = {}

    def note(self, what: str, depth: int = 1) -> None:
        """A call of this kind was made; find out where, but rarely."""
        count = self._seen[what] = self._seen.get(what, 0) + 1
        if count > MOST_PLACES and count & (count - 1):
            return
        place = calling_place(depth + 1)
        if place is not None:
            self.add(what, place)

    def note_stack(self, what: str) -> None:
        """A call of this kind came through these lines; which one tells it from others?"""
        stacks, stack = self._stacks.setdefault(what, {}), tuple(calling_places(0))
        if stack in stacks or len(stacks) < MOST_STACKS:
            stacks[stack] = stacks.get(stack, 0) + 1

    def note_elsewhere(self, what: str) -> None:
        """A call that is not of this kind came through these lines."""
        lines = self._elsewhere.setdefault(what, {})
        for line in calling_places(0):
            if line in lines or len(lines) < MOST_ELSEWHERE:
                lines[line] = lines.get(line, 0) + 1

    def add(self, what: str, place: Where) -> None:
        found = self._found.setdefault(what, {})
        if place in found or len(found) < MOST_PLACES:
            found[place] = found.get(place, 0) + 1

    def notes(self) -> dict[str, list[list[Any]]]:
        """Kind -> places, the most frequent first."""
        noted = {
            what: [list(p) for p in sorted(found, key=lambda place: -found[place])]
            for what, found in list(self._found.items())
        }
        for what, stacks in list(self._stacks.items()):
            noted[what] = [list(place) for place in self._own_lines(what, list(stacks.items()))]
        return noted

    def _own_lines(self, what: str, stacks: list[tuple[tuple[Where, ...], int]]) -> list[Where]:
        """Of each stack the innermost line that calls of another kind do not come through."""
        elsewhere = self._elsewhere.get(what, {})
        own = (
            next((line for line in stack if elsewhere.get(line, 0) <= CHANCE), None)
            for stack, _ in sorted(stacks, key=lambda item: -item[1])
        )
        return [place for place in dict.fromkeys(own) if place is not None][:MOST_PLACES]


def calling_place(depth: int) -> Where | None:
    """The innermost line of the program's own."""
    return next(calling_places(depth + 1), None)


def calling_places(depth: int) -> Iterator[Where]:
    """The program's own lines from the inside out."""
    try:
        frame: FrameType | None = sys._getframe(depth)
    except ValueError:
        return
    for _ in range(_DEEPEST):
        if frame is None:
            return
        if is_program_file(frame.f_code.co_filename):
            yield frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
        frame = frame.f_back


class Facts:
    """All facts of this process."""

    def __init__(self, hooks: Hooks, profiler: Profiler) -> None:
        self.count = profiler.core.count
        self.places = Places()
        self._hooks = hooks
        self._profiler = profiler
        self._waiting = dict(SOURCES)
        #: What a library's file adds: read once a second, and what it notes.
        self._looks: list[Callable[[], None]] = []
        self._notes: list[Callable[[], dict[str, Any]]] = []
        self._lasts: list[Callable[[], None]] = []
        self._machine = machine_note()
        self._at_start = machine.throttling()
        self._dropped: set[str] = set()

    def install(self) -> None:
        """Stand where facts come from; libraries as they are imported."""
        self._hooks.on_import.append(self._imported)
        collect = gc.collect
        gc.collect = _time_collect(collect, self)
        self._hooks.undo(lambda: setattr(gc, "collect", collect))
        show = warnings._showwarnmsg  # type: ignore[attr-defined]
        warnings._showwarnmsg = _read_warnings(show, self)  # type: ignore[attr-defined]
        self._hooks.undo(lambda: setattr(warnings, "_showwarnmsg", show))

    def add(
        self,
        look: Callable[[], None] | None = None,
        notes: Callable[[], dict[str, Any]] | None = None,
        undo: Callable[[], None] | None = None,
        last: Callable[[], None] | None = None,
    ) -> None:
        """What a library's file brings."""
        if look is not None:
            self._looks.append(look)
        if notes is not None:
            self._notes.append(notes)
        if undo is not None:
            self._hooks.undo(undo)
        if last is not None:
            self._lasts.append(last)

    def say_all(self) -> None:
        """The program is over: what is noted now and then is noted a last time."""
        for last in self._lasts:
            self._guard(last)

    def look(self) -> None:
        """Once a second, in the recorder's thread: read what can be read from outside."""
        for look in (self._scheduler, *self._looks):
            self._guard(look)

    def at_loop(self) -> None:
        """The training loop begins: how long the main thread has waited for a core until here."""
        times = self._guard(machine.run_times)
        if times is not None:
            self.gauge("startup_delay_s", times.waiting)

    def notes(self) -> dict[str, Any]:
        """What the capture says; cheap, and the same again unless something changed."""
        found: dict[str, Any] = {"machine": self._machine}
        for notes in self._notes:
            found.update(self._guard(notes) or {})
        places = self.places.notes()
        if places:
            found["places"] = places
        return found

    def _imported(self, name: str) -> None:
        source = self._waiting.get(name)
        module = sys.modules.get(name)
        if source is None or module is None:
            return
        if getattr(getattr(module, "__spec__", None), "_initializing", False):
            return  # a part of it was imported by itself; the whole comes later
        del self._waiting[name]
        from importlib import import_module

        import_module(f"hotloop.hooks.{source}").put_on(self)

    def _scheduler(self) -> None:
        gauges = self.gauges
        times = machine.run_times()
        if times is not None:
            gauges["main_cpu_s"], gauges["main_delay_s"] = times.on_core, times.waiting
            gauges["run_delay_s"] = times.all_waiting
        if self._at_start is not None:
            now = machine.throttling()
            if now is not None:
                gauges["throttled_s"] = now.seconds - self._at_start.seconds
                gauges["throttled_periods"] = now.throttled - self._at_start.throttled
                gauges["quota_periods"] = now.periods - self._at_start.periods

    @property
    def gauges(self) -> dict[str, float]:
        """Values as they are now; another dictionary after a fork."""
        return self._profiler.gauges

    def gauge(self, name: str, value: float) -> None:
        """A value as it is now."""
        self.gauges[name] = value

    def timed(self, name: str, what: str, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """A call that takes far longer than this: counted, timed, and its place noted."""
        begin = time.perf_counter()
        try:
            return call(*args, **kwargs)
        finally:
            self.count(f"{name}s", 1)
            self.count(f"{name}_s", time.perf_counter() - begin)
            self.places.note(what, 2)

    def _guard(self, call: Callable[[], Any]) -> Any:
        """A fact that cannot be had is dropped, once and for all."""
        key = getattr(call, "__qualname__", repr(call))
        if key in self._dropped:
            return None
        try:
            return call()
        except Exception as error:
            self._dropped.add(key)
            self._hooks.failures[f"fact {key}"] = repr(error)
            return None


def machine_note() -> dict[str, Any]:
    """What never changes: cores, limits, memory, accelerators."""
    return {
        "cores": machine.affinity_cores(),
        "quota_cores": machine.quota_cores(),
        "memory_bytes": machine.memory_bytes(),
        "memory_limit": machine.memory_limit(),
        "accelerators": machine.accelerators(),
    }


def _time_collect(collect: Callable[..., int], facts: Facts) -> Callable[..., int]:
    """`gc.collect`: a call takes milliseconds, so counting it costs nothing."""

    @functools.wraps(collect)
    def timed_collect(*args: Any, **kwargs: Any) -> int:
        return int(facts.timed("gc_collect", "gc.collect", collect, args, kwargs))

    return timed_collect


#: What a warning says, and the fact that it is: torch warns once for the first such line.
_WARNINGS = {"Creating a tensor from a list of numpy.ndarrays": "tensor of a list"}


def _read_warnings(show: Callable[..., None], facts: Facts) -> Callable[..., None]:
    """Warnings that say where a costly call is; each is shown as before."""

    @functools.wraps(show)
    def show_warning(message: Any) -> None:
        try:
            text = str(message.message)
            for beginning, what in _WARNINGS.items():
                if text.startswith(beginning):
                    _put_right(message, facts, what)
        except Exception:
            pass  # a message that cannot be read says nothing
        show(message)

    return show_warning


def _put_right(message: Any, facts: Facts, what: str) -> None:
    """Note the program's line, and let the warning name that too, not the hook that it met."""
    place = calling_place(2)
    if place is None:
        return
    facts.places.add(what, place)
    if not is_program_file(message.filename):
        message.filename, message.lineno, _ = place
        message.line = None
