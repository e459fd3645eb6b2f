"""The native core's twin in pure Python: the same interface, the same answers, more nanoseconds.

Used where nothing could be compiled, or with HOTLOOP_PURE=1. `native/core.c` says how time is
charged; one test suite runs over both. Two things differ, and are documented: tasks are told apart
by asyncio's current task rather than by contextvars context, and the sampler is a Python thread,
which sees lines that release the GIL more often than lines that hold it.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType
from typing import Any

from hotloop.histogram import bucket_of
from hotloop.words import REGION_ASIDE, REGION_LOOP, REGION_SHALLOW

MAX_NODES = 4096
MAX_ROOTS = 8
MAX_DEPTH = 128
SHALLOW_DEPTH = 12
MAX_STACKS = 1 << 16
MODE_PYTHON, MODE_NATIVE, MODE_WAITING, MODE_UNKNOWN = range(4)

_modules = sys.modules
_get_ident = threading.get_ident


class _Node:
    """One place in the tree, with what happened there since the last snapshot."""

    __slots__ = (
        "calls",
        "elapsed_ns",
        "first_ns",
        "flags",
        "histogram",
        "id",
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
        self.flags = 0
        if region is not None and parent is not None:
            aside = (parent.flags | region.flags) & REGION_ASIDE
            self.flags = aside or (region.flags & REGION_LOOP)
            self.flags |= region.flags & REGION_SHALLOW
        self.resident_peak = 0
        self.forget()

    def forget(self) -> None:
        self.calls = self.self_ns = self.elapsed_ns = self.max_ns = 0
        self.min_ns = -1
        self.first_ns = self.last_ns = 0
        self.resident_peak = 0
        self.histogram: dict[int, int] = {}


class _Frame:
    """A region that is open."""

    __slots__ = ("active", "mark", "nested", "node", "region")

    def __init__(self, node: _Node, region: Region, mark: int, nested: bool) -> None:
        self.node = node
        self.region = region
        self.mark = mark
        self.active = 0
        self.nested = nested

    def count(self, now: int) -> None:
        if now > self.mark:
            part = now - self.mark
            self.active += part
            self.mark = now
            if not self.nested:
                self.node.elapsed_ns += part


class _Stack:
    """The open regions of one task of one thread."""

    __slots__ = ("base", "frames")

    def __init__(self, base: _Node) -> None:
        self.base = base
        self.frames: list[_Frame] = []

    def top(self) -> _Node:
        return self.frames[-1].node if self.frames else self.base

    def find(self, region: Region) -> int:
        for index in range(len(self.frames) - 1, -1, -1):
            if self.frames[index].region is region:
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
        asyncio = _modules.get("asyncio")
        if asyncio is None or not hasattr(asyncio, "current_task"):
            return self.stack
        task = asyncio.current_task() if asyncio._get_running_loop() is not None else None
        if task is not self.task:
            for done in [t for t, s in self.stacks.items() if t is not None and not s.frames]:
                del self.stacks[done]
            self.task = task
            self.stack = self.stacks.get(task) or _Stack(self.stacks[None].top())
            self.stacks[task] = self.stack
        return self.stack


class Region:
    """A named stretch of code: a context manager that can be entered any number of times."""

    __slots__ = ("_core", "flags", "name")

    def __init__(self, core: Core | None, name: str, flags: int) -> None:
        self._core = core
        self.name = name
        self.flags = flags

    def __repr__(self) -> str:
        return f"<Region {self.name!r}>"

    def __reduce__(self) -> Any:
        if self._core is None:
            raise TypeError("a region that is off cannot be pickled")
        return self._core.region, (self.name,)

    def enter(self) -> Region:
        core = self._core
        if core is not None and core.enabled:
            core._enter(self)
        return self

    __enter__ = enter

    def exit(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        if self._core is not None:
            self._core._exit(self)

    __exit__ = exit

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
            else:
                core._enter(self)
                try:
                    result = function(*args, **kwargs)
                finally:
                    core._exit(self)
                note = notes[0]
            if note is not None:
                try:
                    note(result, *args, **kwargs)
                except Exception as error:
                    core.failures[self.name] = repr(error)
                    notes[0] = None
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
        self._edges: dict[tuple[int, Region], _Node] = {}
        more = self.region("(more regions)")
        self._overflow = [self._make(self._nodes[root], more) for root in range(MAX_ROOTS)]
        self._threads: dict[int, _Thread] = {}
        self._watched: tuple[str, Callable[[], object]] | None = None
        self._watch_left = 0.0

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

    def profile(self, *args: Any, **kwargs: Any) -> Any:
        """A region to be used with `with`; while disabled, one that does nothing."""
        if not self.enabled:
            return self._off
        if len(args) == 1 and not kwargs:
            return self._regions.get(args[0]) or self.region(args[0])
        if self._special is None:
            raise TypeError("profile() takes a name")
        return self._special(*args, **kwargs)

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
        self._edges[parent.id, region] = up
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

    def _enter(self, region: Region) -> None:
        thread = self._threads.get(_get_ident()) or self._thread()
        stack = thread.current_stack()
        frames = stack.frames
        parent = frames[-1].node if frames else stack.base
        node = self._edges.get((parent.id, region)) or self._child(parent, region)
        if node.flags & REGION_LOOP and not self.loop_first:
            self._begin_loop()
        now = self._clock()
        thread.charge(now)
        thread.top = node
        if not node.first_ns:
            node.first_ns = now
        frames.append(_Frame(node, region, now, node.parent is not parent))

    def _exit(self, region: Region) -> None:
        now = self._clock()
        thread = self._threads.get(_get_ident()) or self._thread()
        stack = thread.current_stack()
        if self.enabled:
            thread.charge(now)
        frames = stack.frames
        if not frames or frames[-1].region is not region:
            self._exit_out_of_order(thread, stack, region, now)
            return
        self._close(frames.pop(), now)
        thread.top = frames[-1].node if frames else stack.base

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
        if self.enabled:
            frame.count(now)
        node = frame.node
        duration = frame.active
        node.calls += 1
        if node.min_ns < 0 or duration < node.min_ns:
            node.min_ns = duration
        if duration > node.max_ns:
            node.max_ns = duration
        node.last_ns = now
        if node.flags & REGION_LOOP:
            self._loop_last = now
        bucket = bucket_of(duration)
        node.histogram[bucket] = node.histogram.get(bucket, 0) + 1

    def _begin_loop(self) -> None:
        if self._on_loop is not None:
            try:
                self._on_loop()
            except Exception as error:
                self.failures["on_loop"] = repr(error)
        self.loop_first = self._loop_last = self._clock()

    def is_open(self, name: str) -> bool:
        """Whether this thread is inside that region."""
        region = self._regions.get(name)
        return region is not None and self._thread().current_stack().find(region) >= 0

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
            frame.count(now)

    def _skip_open(self, now: int) -> None:
        for thread in self._threads.values():
            thread.last = now
        for frame in self._open_frames():
            frame.mark = now

    def skip(self, ns: int) -> None:
        """Take `ns` out of what is open in this thread: hotloop's own work inside it."""
        thread = self._thread()
        thread.last += ns
        for frame in thread.current_stack().frames:
            frame.mark += ns

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
                        max(node.min_ns, 0),
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

    def after_fork(self) -> None:
        """In a forked child: only this thread lives on; the rest was the parent's."""
        current = self._thread()
        current.root = 0
        self._threads = {current.ident: current}
        for node in self._nodes:
            node.forget()
        self._counters = {}
        self.loop_first = self._loop_last = 0
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
