"""The native core's twin in pure Python: the same interface, the same answers, more nanoseconds.

Used where nothing could be compiled, or with HOTLOOP_PURE=1. `native/core.c` says how time is
charged; one test suite runs over both. Two things differ, and are documented: tasks are told apart
by asyncio's current task rather than by contextvars context, and the sampler is a Python thread,
which sees lines that release the GIL more often than lines that hold it.
"""

from __future__ import annotations

import struct
import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType
from typing import Any

from hotloop.histogram import STEPS, STEPS_BITS, bucket_of
from hotloop.words import REGION_ASIDE, REGION_BESIDE, REGION_LOOP, REGION_SHALLOW

MAX_NODES = 4096
MAX_ROOTS = 8
MAX_DEPTH = 128
SHALLOW_DEPTH = 12
LONG_GAP_NS = 50_000_000
LONG_GAP_TIMES = 10
MOST_OWN_NS = 50_000
MAX_STACKS = 1 << 16
MODE_PYTHON, MODE_NATIVE, MODE_WAITING, MODE_UNKNOWN = range(4)

_BITS_KEPT = STEPS_BITS + 1
_LONGEST = 1 << 63
_modules = sys.modules
#: Begin, end and node of a slice, as the native core lays it out.
_SLICE = struct.Struct("=QQII")
_ASYNCIO = "asyncio.events"
_get_ident = threading.get_ident


class _Node:
    """One place in the tree, with what happened there since the last snapshot."""

    __slots__ = (
        "calls",
        "children",
        "elapsed_ns",
        "first_ns",
        "flags",
        "gaps",
        "histogram",
        "id",
        "is_called",
        "last_ns",
        "max_ns",
        "min_ns",
        "parent",
        "region",
        "resident_peak",
        "root",
        "self_ns",
    )

    def __init__(self, id: int, parent: _Node | None, region: Region | None, root: int) -> None:
        self.id = id
        self.parent = parent
        self.region = region
        self.root = root
        #: Region -> the place it has here, made at its first entry.
        self.children: dict[Region, _Node] = {}
        self.flags = 0
        if region is not None and parent is not None:
            aside = (parent.flags | region.flags) & REGION_ASIDE
            self.flags = aside or (region.flags & REGION_LOOP)
            self.flags |= region.flags & REGION_SHALLOW
        self.resident_peak = 0
        #: It has been entered, not only claimed a gap.
        self.is_called = False
        self.forget()

    def forget(self) -> None:
        self.calls = self.gaps = self.self_ns = self.elapsed_ns = self.max_ns = 0
        self.min_ns = _LONGEST
        self.first_ns = self.last_ns = 0
        self.resident_peak = 0
        self.histogram: dict[int, int] = {}

    def give_back(self, parent: _Node, ns: int) -> None:
        """Give a gap's time to the place around it, which has counted it as elapsed already."""
        ns = min(ns, self.self_ns)
        self.self_ns -= ns
        self.elapsed_ns -= min(ns, self.elapsed_ns)
        parent.self_ns += ns


# A region that is open is a list, the cheapest thing that can be changed in place:
# [its node, the region, counted up to here, counted so far, whether it is a recursion, whether it
# is a gap, what snapshots took of the gap already, the gap that goes on after it, where the slice
# of a trace began].
_Frame = list[Any]
_NODE, _REGION, _MARK, _ACTIVE, _NESTED, _GAP, _KEPT, _RESUME, _BEGIN = range(9)


def _count_frame(frame: _Frame, now: int) -> None:
    """Count a frame up to now, and leave it open."""
    part = now - frame[_MARK]
    if part > 0:
        frame[_ACTIVE] += part
        frame[_MARK] = now
        if not frame[_NESTED]:
            frame[_NODE].elapsed_ns += part


class _Stack:
    """The open regions of one task of one thread."""

    __slots__ = ("base", "frames")

    def __init__(self, base: _Node) -> None:
        self.base = base
        self.frames: list[_Frame] = []

    def top(self) -> _Node:
        node: _Node = self.frames[-1][_NODE] if self.frames else self.base
        return node

    def in_gap(self) -> bool:
        return bool(self.frames) and bool(self.frames[-1][_GAP])

    def find(self, region: Region) -> int:
        for index in range(len(self.frames) - 1, -1, -1):
            if self.frames[index][_REGION] is region:
                return index
        return -1


class _Thread:
    """One thread: its stacks, and what is charged now."""

    __slots__ = ("alive", "ident", "last", "root", "stack", "stacks", "task", "top")

    def __init__(self, root: int, base: _Node, now: int) -> None:
        self.ident = _get_ident()
        self.alive = threading.current_thread()
        self.root = root
        self.task: Any = None
        self.stack = _Stack(base)
        self.stacks: dict[Any, _Stack] = {None: self.stack}
        self.top = base
        self.last = now

    def charge(self, now: int) -> None:
        if now > self.last:
            self.top.self_ns += now - self.last
            self.last = now

    def current_stack(self) -> _Stack:
        """The stack of the task that runs now."""
        # A module that is being imported is there without its names.
        running = getattr(_modules.get(_ASYNCIO), "_get_running_loop", None)
        if running is None or running() is None:
            if self.task is None:
                return self.stack
            task = None
        else:
            task = _modules["asyncio"].current_task()
        if task is not self.task:
            for done in [t for t, s in self.stacks.items() if t is not None and not s.frames]:
                del self.stacks[done]
            self.task = task
            self.stack = self.stacks.get(task) or _Stack(self.stacks[None].top())
            self.stacks[task] = self.stack
        return self.stack


class Region:
    """A named stretch of code: a context manager that can be entered any number of times."""

    __slots__ = ("_core", "flags", "longest_ns", "name")

    def __init__(self, core: Core | None, name: str, flags: int) -> None:
        self._core = core
        self.name = name
        self.flags = flags
        #: Of its gaps that were claimed.
        self.longest_ns = 0

    def __repr__(self) -> str:
        return f"<Region {self.name!r}>"

    def __reduce__(self) -> Any:
        if self._core is None:
            raise TypeError("a region that is off cannot be pickled")
        return self._core.region, (self.name,)

    # The hot path. Every call and every attribute counts here, so what `_close` and `bucket_of`
    # do for all others stands inline in `exit`.

    def enter(self) -> Region:
        core = self._core
        if core is None or not core.enabled:
            return self
        thread = core._threads.get(_get_ident()) or core._thread()
        stack = thread.stack
        if _ASYNCIO in _modules and (
            thread.task is not None or _modules[_ASYNCIO]._get_running_loop() is not None
        ):
            stack = thread.current_stack()
        frames = stack.frames
        resume = None
        if frames:
            if frames[-1][_GAP]:
                if self.flags & REGION_BESIDE:
                    resume = frames[-1][_REGION]
                core._end_gap(thread, stack, core._clock())
            parent = frames[-1][_NODE] if frames else stack.base
        else:
            parent = stack.base
        node = parent.children.get(self) or core._child(parent, self)
        if node.flags & REGION_LOOP and not core.loop_first:
            core._begin_loop()
        frame = [node, self, 0, 0, node.parent is not parent, False, 0, resume, 0]
        frames.append(frame)
        top, thread.top = thread.top, node
        frame[_MARK] = frame[_BEGIN] = now = core._clock()
        if now > thread.last:
            top.self_ns += now - thread.last
            thread.last = now
        if not node.first_ns:
            node.first_ns = now
        return self

    __enter__ = enter

    def exit(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        core = self._core
        if core is None:
            return
        now = core._clock()
        thread = core._threads.get(_get_ident()) or core._thread()
        stack = thread.stack
        if _ASYNCIO in _modules and (
            thread.task is not None or _modules[_ASYNCIO]._get_running_loop() is not None
        ):
            stack = thread.current_stack()
        frames = stack.frames
        if not core.enabled or not frames or frames[-1][_REGION] is not self:
            self._exit_slowly(core, thread, stack, now)
            return
        if frames[-1][_GAP]:  # of this very region: it is the one around it that ends
            self._exit_slowly(core, thread, stack, now)
            return
        node, _, mark, duration, nested, _, _, resume, begin = frames.pop()
        if now > thread.last:
            thread.top.self_ns += now - thread.last
            thread.last = now
        thread.top = frames[-1][_NODE] if frames else stack.base
        if now > mark:
            duration += now - mark
            if not nested:
                node.elapsed_ns += now - mark
        node.calls += 1
        if duration > node.max_ns:
            node.max_ns = duration
        if duration < node.min_ns:
            node.min_ns = duration
        node.last_ns = now
        if node.flags & REGION_LOOP:
            core._loop_last = now
        bucket = duration
        if duration >= STEPS:
            shift = duration.bit_length() - _BITS_KEPT
            bucket = (shift + 1) * STEPS + ((duration >> shift) & (STEPS - 1))
        node.histogram[bucket] = node.histogram.get(bucket, 0) + 1
        if core._slice_room:
            core._keep_slice(node, begin, now, False)
        if resume is not None:
            core._enter_gap(resume)

    __exit__ = exit

    def _exit_slowly(self, core: Core, thread: _Thread, stack: _Stack, now: int) -> None:
        """Disabled, out of order, or out of a gap."""
        if core.enabled:
            thread.charge(now)
        if stack.in_gap():
            core._end_gap(thread, stack, now)
        frames = stack.frames
        if not frames or frames[-1][_REGION] is not self:
            core._exit_out_of_order(thread, stack, self, now)
            return
        frame = frames.pop()
        core._close(frame, now)
        thread.top = stack.top()
        if frame[_RESUME] is not None and core.enabled:
            core._enter_gap(frame[_RESUME])

    def gap(self) -> None:
        """Open until anything else begins or ends; see the native core's `gap`."""
        core = self._core
        if core is not None and core.enabled:
            core._take_own()
            core._enter_gap(self)
            core._forget_gap()
            core._slice_gap = len(core._slices)

    def wrap(
        self,
        function: Callable[..., Any],
        after: Callable[..., Any] | None = None,
        outermost: bool = False,
        always: bool = False,
    ) -> Callable[..., Any]:
        """`function` inside this region; see the native core's `wrap`."""
        core = self._core
        assert core is not None
        notes = [after]

        def timed(*args: Any, **kwargs: Any) -> Any:
            if not core.enabled or (outermost and core.is_open(self.name)):
                result = function(*args, **kwargs)
                note = notes[0] if always else None
                entered = False
            else:
                entered = True
                self.enter()
                try:
                    result = function(*args, **kwargs)
                finally:
                    self.exit()
                note = notes[0]
            if note is not None:
                thread = core._thread()
                last = thread.last
                try:
                    core._noting = entered
                    note(result, *args, **kwargs)
                except Exception as error:
                    core.failures[self.name] = repr(error)
                    notes[0] = None
                finally:
                    core._noting = False
                if entered and thread.last == last and core.enabled:
                    own = core._clock() - last
                    core._own_ns += own
                    core.skip(own)
            return result

        timed.__dict__.update(getattr(function, "__dict__", {}))
        for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
            if hasattr(function, attribute):
                setattr(timed, attribute, getattr(function, attribute))
        timed.__wrapped__ = function  # type: ignore[attr-defined]
        return timed


class Core:
    """A tree of regions with its counters."""

    def __init__(
        self,
        describe: Callable[[str], int] | None = None,
        special: Callable[..., Any] | None = None,
        clock: Callable[[], int] | None = None,
        on_loop: Callable[[], object] | None = None,
        reduce: Any = None,
    ) -> None:
        self._reduce = reduce
        self.enabled = False
        self.failures: dict[str, str] = {}
        self.unmatched = 0
        self.loop_first = 0
        self._loop_last = 0
        self._describe = describe
        self._special = special
        self._clock = clock or time.perf_counter_ns
        self._on_loop = on_loop
        self._regions: dict[str, Region] = {}
        self._counters: dict[str, float] = {}
        self._off = Region(None, "(off)", 0)
        self._nodes = [_Node(root, None, None, root) for root in range(MAX_ROOTS)]
        more = self.region("(more regions)")
        self._overflow = [self._make(self._nodes[root], more) for root in range(MAX_ROOTS)]
        self._threads: dict[int, _Thread] = {}
        self._watched: tuple[str, Callable[[], object]] | None = None
        self._watch_left = 0.0
        self._own_ns = 0
        self._noting = False
        self._forget_gap()
        self._slice_room = 0
        self._forget_slices()

    def __reduce__(self) -> Any:
        if self._reduce is None:
            raise TypeError("only the global profiler's core can be pickled")
        return self._reduce

    # -- regions --

    def region(self, name: str) -> Region:
        """The region of that name, enabled or not."""
        region = self._regions.get(name)
        if region is None:
            if type(name) is not str:
                raise TypeError(f"a region's name is a string, not {name!r}")
            region = Region(self, name, self._describe(name) if self._describe else 0)
            self._regions[name] = region
        return region

    def profile(self, name: str, category: str | None = None, track_memory: bool = False) -> Any:
        """A region to be used with `with`; while disabled, one that does nothing."""
        if not self.enabled:
            return self._off
        if category is None and not track_memory:
            return self._regions.get(name) or self.region(name)
        if self._special is None:
            raise TypeError("profile() takes a name")
        return self._special(name, category, track_memory)

    def _make(self, parent: _Node, region: Region) -> _Node:
        node = _Node(len(self._nodes), parent, region, parent.root)
        self._nodes.append(node)
        return node

    def _child(self, parent: _Node, region: Region) -> _Node:
        up: _Node | None = parent
        while up is not None and up.region is not region:
            up = up.parent
        if up is None:
            if len(self._nodes) >= MAX_NODES:
                return self._overflow[parent.root]
            up = self._make(parent, region)
        parent.children[region] = up
        return up

    def _thread(self) -> _Thread:
        thread = self._threads.get(_get_ident())
        # An ident is used again when its thread is gone; the Thread object is not.
        if thread is None or (thread.root != 0 and thread.alive is not threading.current_thread()):
            if threading.current_thread() is threading.main_thread():
                root = 0
            else:
                taken = {other.root for other in self._threads.values()}
                root = next((r for r in range(1, MAX_ROOTS) if r not in taken), MAX_ROOTS - 1)
            thread = _Thread(root, self._nodes[root], self._clock())
            self._threads[thread.ident] = thread
        return thread

    def _exit_out_of_order(self, thread: _Thread, stack: _Stack, region: Region, now: int) -> None:
        candidates = [(thread, stack)]
        candidates += [(t, s) for t in self._threads.values() for s in t.stacks.values()]
        for owner, candidate in candidates:
            index = candidate.find(region)
            if index >= 0:
                self._close(candidate.frames.pop(index), now)
                if owner.stack is candidate:
                    if self.enabled:
                        owner.charge(now)
                    owner.top = candidate.top()
                return
        self.unmatched += 1

    def _close(self, frame: _Frame, now: int) -> None:
        node, _, mark, duration, nested, *_ = frame
        if self.enabled and now > mark:
            part = now - mark
            duration += part
            if not nested:
                node.elapsed_ns += part
        if self._slice_room and self.enabled:
            self._keep_slice(node, frame[_BEGIN], now, False)
        node.calls += 1
        if duration < node.min_ns:
            node.min_ns = duration
        if duration > node.max_ns:
            node.max_ns = duration
        node.last_ns = now
        if node.flags & REGION_LOOP:
            self._loop_last = now
        bucket = bucket_of(duration)
        histogram = node.histogram
        histogram[bucket] = histogram.get(bucket, 0) + 1

    def _begin_loop(self) -> None:
        if self._on_loop is not None:
            try:
                self._on_loop()
            except Exception as error:
                self.failures["on_loop"] = repr(error)
        self.loop_first = self._loop_last = self._clock()

    def is_open(self, *names: str) -> bool:
        """Whether this thread is inside any of those regions."""
        stack = self._thread().current_stack()
        frames = stack.frames[:-1] if stack.in_gap() else stack.frames
        return any(frame[_REGION].name in names for frame in frames)

    def innermost(self) -> str | None:
        """The name of the region that this thread is in, gaps left out; None outside."""
        stack = self._thread().current_stack()
        frames = stack.frames[:-1] if stack.in_gap() else stack.frames
        return frames[-1][_REGION].name if frames else None

    def main_node(self) -> int:
        """The place that the main thread is at, by its number; asked from any thread."""
        main = next((t for t in list(self._threads.values()) if t.root == 0), None)
        return main.top.id if main is not None else 0

    # -- gaps --

    def _enter_gap(self, region: Region) -> None:
        region.enter()
        self._thread().stack.frames[-1][_GAP] = True

    def _take_own(self) -> None:
        """Since the last region ended only a hook has run: that is hotloop's own time."""
        thread = self._thread()
        own = self._clock() - thread.last
        if (0 < own <= MOST_OWN_NS or self._noting) and not thread.current_stack().in_gap():
            self._own_ns += own
            self.skip(own)

    def own(self) -> int:
        """Nanoseconds of hotloop's own work that were taken out since the last call."""
        own, self._own_ns = self._own_ns, 0
        return own

    def _forget_gap(self) -> None:
        #: Where the gap that ended last was, how long, and how much of it is with its parent.
        self._gap_parent: _Node | None = None
        self._gap_ns = self._gap_left_ns = 0

    def _end_gap(self, thread: _Thread, stack: _Stack, now: int) -> None:
        frame = stack.frames.pop()
        if self.enabled:
            thread.charge(now)
            _count_frame(frame, now)
            if self._slice_room:
                self._keep_slice(frame[_NODE], frame[_BEGIN], now, True)
        self._gap_parent = thread.top = stack.top()
        left = frame[_ACTIVE] - frame[_KEPT]
        self._gap_ns += frame[_ACTIVE]
        self._gap_left_ns += left
        frame[_NODE].give_back(thread.top, left)

    def end_gap(self) -> None:
        """End the gap that this thread is in, if any."""
        thread = self._thread()
        stack = thread.current_stack() if _ASYNCIO in _modules else thread.stack
        if stack.in_gap():
            self._end_gap(thread, stack, self._clock())

    def claim_gap(self, region: Region) -> None:
        """The gap that ended last was that region's; see the native core."""
        if not isinstance(region, Region) or region._core is not self:
            raise TypeError("claim_gap(region): a region of this core")
        parent, ns, left = self._gap_parent, self._gap_ns, self._gap_left_ns
        self._forget_gap()
        if parent is None:
            return
        node = parent.children.get(region) or self._child(parent, region)
        self._claim_slices(None, node)
        left = min(left, parent.self_ns)
        parent.self_ns -= left
        node.self_ns += left
        if node.parent is parent:
            node.elapsed_ns += left
        node.is_called = node.is_called or node.calls > node.gaps
        if not node.is_called:
            node.calls += 1
            node.gaps += 1
            bucket = bucket_of(ns)
            node.histogram[bucket] = node.histogram.get(bucket, 0) + 1
            node.min_ns = min(ns, node.min_ns)
            node.max_ns = max(ns, node.max_ns)
        node.last_ns = self._clock()
        node.first_ns = node.first_ns or node.last_ns - ns
        region.longest_ns = max(region.longest_ns, ns)

    def _keep_gaps(self) -> None:
        self._forget_gap()
        for thread in self._threads.values():
            if thread.stack.in_gap():
                *below, frame = thread.stack.frames
                limit = max(LONG_GAP_NS, LONG_GAP_TIMES * frame[_REGION].longest_ns)
                if frame[_ACTIVE] > limit:
                    around = below[-1][_NODE] if below else thread.stack.base
                    frame[_NODE].give_back(around, frame[_ACTIVE] - frame[_KEPT])
                else:
                    self._claim_slices(frame[_NODE], frame[_NODE])
                frame[_KEPT] = frame[_ACTIVE]
        self._slice_gap = len(self._slices)

    # -- a trace --

    def trace(self, room: int) -> None:
        """Keep up to `room` slices from now on, until they are taken; 0 keeps none."""
        self._slice_room = room
        self._forget_slices()
        now = self._clock()
        for frame in self._open_frames():
            frame[_BEGIN] = now

    def slices(self) -> tuple[bytes, int]:
        """The slices since they were last taken; see the native core's."""
        packed = b"".join(
            _SLICE.pack(begin, end, node, 0)
            for begin, end, node, unclaimed in self._slices
            if not unclaimed
        )
        lost = self._slices_lost
        self._forget_slices()
        return packed, lost

    def _forget_slices(self) -> None:
        self._slices: list[tuple[int, int, int, bool]] = []
        self._slice_gap = self._slices_lost = 0

    def _keep_slice(self, node: _Node, begin: int, now: int, unclaimed: bool) -> None:
        if len(self._slices) < self._slice_room:
            self._slices.append((begin, now, node.id, unclaimed))
        else:
            self._slices_lost += 1

    def _claim_slices(self, was: _Node | None, node: _Node) -> None:
        for index in range(self._slice_gap, len(self._slices)):
            begin, end, known, unclaimed = self._slices[index]
            if unclaimed and (was is None or known == was.id):
                self._slices[index] = (begin, end, node.id, False)

    # -- counters --

    def count(self, name: str, n: float = 1) -> None:
        """Add to a counter."""
        if type(name) is not str or not isinstance(n, (int, float)):
            raise TypeError("count(name, n=1): name is a string, n a number")
        if not self.enabled:
            return
        self._counters[name] = self._counters.get(name, 0) + n
        if self._watched is not None and self._watched[0] == name:
            self._watch_left -= n
            if self._watch_left <= 0:
                call = self._watched[1]
                self._watched = None
                call()

    def watch(self, name: str, limit: float, call: Callable[[], object]) -> None:
        """Call once, when the counter has grown by `limit` from now."""
        self._watched = (name, call)
        self._watch_left = limit

    # -- on, off and out --

    def enable(self) -> None:
        """Begin to count; regions that are open count from now."""
        if not self.enabled:
            self._thread()
            self._skip_open(self._clock())
            self.enabled = True

    def disable(self) -> None:
        """Stop counting; regions that are open count up to now."""
        if self.enabled:
            self._count_open(self._clock())
            self.enabled = False

    def _open_frames(self) -> list[_Frame]:
        return [f for t in self._threads.values() for s in t.stacks.values() for f in s.frames]

    def _count_open(self, now: int) -> None:
        for thread in self._threads.values():
            thread.charge(now)
        for frame in self._open_frames():
            _count_frame(frame, now)
            if self._slice_room:
                self._keep_slice(frame[_NODE], frame[_BEGIN], now, frame[_GAP])
                frame[_BEGIN] = now

    def _skip_open(self, now: int) -> None:
        for thread in self._threads.values():
            thread.last = now
        for frame in self._open_frames():
            frame[_MARK] = frame[_BEGIN] = now

    def skip(self, ns: int) -> None:
        """Take `ns` out of what is open in this thread: hotloop's own work inside it."""
        thread = self._thread()
        thread.last += ns
        for frame in thread.current_stack().frames:
            frame[_MARK] += ns

    def snapshot(self) -> tuple[int, list[tuple[Any, ...]], dict[str, float], int]:
        """All that happened since the last snapshot; see the native core's."""
        now = self._clock()
        if self.enabled:
            self._count_open(now)
        for ident, thread in list(self._threads.items()):
            if thread.root != 0 and not thread.alive.is_alive():
                for stack in thread.stacks.values():
                    while stack.frames:
                        self._close(stack.frames.pop(), now)
                del self._threads[ident]
        self._keep_gaps()
        rows = []
        for node in self._nodes:
            if node.calls or node.self_ns or node.elapsed_ns:
                flat = tuple(n for pair in sorted(node.histogram.items()) for n in pair)
                rows.append(
                    (
                        node.id,
                        node.calls,
                        node.self_ns,
                        node.elapsed_ns,
                        node.min_ns if node.calls else 0,
                        node.max_ns,
                        flat,
                        node.first_ns,
                        node.last_ns,
                        node.resident_peak,
                    )
                )
                node.forget()
        counters, self._counters = self._counters, {}
        return now, rows, counters, self._loop_last

    def nodes(self, start: int = 0) -> list[tuple[int, int, str | None, int]]:
        """[(node, parent or -1, name, root)] of the places made since `start`."""
        return [
            (
                node.id,
                node.parent.id if node.parent is not None else -1,
                node.region.name if node.region is not None else None,
                node.root,
            )
            for node in self._nodes[start:]
        ]

    def forget_loop(self) -> None:
        """The next entry of a phase of the training loop begins a loop anew."""
        self.loop_first = self._loop_last = 0

    def after_fork(self) -> None:
        """In a forked child: only this thread lives on; the rest was the parent's."""
        current = self._thread()
        current.root = 0
        self._threads = {current.ident: current}
        for node in self._nodes:
            node.forget()
        self._counters = {}
        self.loop_first = self._loop_last = 0
        self._forget_slices()
        self._forget_gap()
        self._noting = False
        self._skip_open(self._clock())


class Sampler:
    """Samples the stacks of a process and the phase that each is in, from a Python thread."""

    def __init__(self, core: Core, interval_ns: int, root_code: CodeType | None = None) -> None:
        self._core = core
        self._interval_s = interval_ns / 1e9
        self._root_code = root_code
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
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
            self._stop = threading.Event()
            self._thread = threading.Thread(
                target=self._run, args=(self._stop,), name="hotloop-sampler", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """End; what was sampled stays to be drained."""
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None

    def after_fork(self) -> None:
        """In a forked child: the thread is gone, and so are the parent's samples."""
        self._thread = None
        self._reset()

    def drain(self) -> tuple[list[tuple[int, int, int, int, int]], list[Any], int, int, int]:
        """What was seen since the last drain; see the native sampler's."""
        samples, stacks, cost = self._samples, self._new_stacks, self._cost_ns
        resident, peak = self._resident, self._resident_peak
        self._reset()
        self._resident = self._resident_peak = resident
        rows = [(*key, count, ns) for key, (count, ns) in samples.items()]
        return rows, stacks, cost, resident, peak

    def _run(self, stop: threading.Event) -> None:
        from hotloop.measure.memory import resident_bytes

        last = time.perf_counter_ns()
        last_cpu = self._cpu()
        while not stop.wait(self._interval_s):
            begin = time.perf_counter_ns()
            cpu = self._cpu()
            busy = cpu - last_cpu > (begin - last) / 2 if self._cpu_clock is not None else None
            self._resident = resident_bytes()
            self._resident_peak = max(self._resident, self._resident_peak)
            self._look(begin - last, busy)
            last, last_cpu = begin, cpu
            self._cost_ns += time.perf_counter_ns() - begin

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
                up: _Node | None = node
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
    """The clock of one thread's processor time, where the system has one."""
    get = getattr(time, "pthread_getcpuclockid", None)
    try:
        return get(ident) if get is not None else None
    except OSError:
        return None
