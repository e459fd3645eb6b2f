"""A tree of regions with its counters, used if the native module is missing.

It counts regions and counters as the native core does. Gaps, and therefore all inferred phases,
need the native module.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any

from hotloop.capture.slices import SLICE
from hotloop.histogram import bucket_of
from hotloop.measure.twin.region import Region
from hotloop.measure.twin.stacks import (
    BEGIN,
    MARK,
    MAX_ROOTS,
    NODE,
    REGION,
    Frame,
    Node,
    Stack,
    Thread,
    count_frame,
    get_ident,
)
from hotloop.phases import REGION_BESIDE, REGION_LOOP

MAX_NODES = 4096
MAX_REGIONS = 4096
MORE_REGIONS = "(more regions)"


class Core:
    """A tree of regions with its counters."""

    #: Here every call is measured throughout.
    resting = False

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
        self._nodes = [Node(root, None, None, root) for root in range(MAX_ROOTS)]
        more = self.region(MORE_REGIONS)
        self._overflow = [self._make(self._nodes[root], more) for root in range(MAX_ROOTS)]
        self._threads: dict[int, Thread] = {}
        self._watched: tuple[str, Callable[[], object]] | None = None
        self._watch_left = 0.0
        self._own_ns = 0
        #: Counts that were not finite.
        self.dropped = 0
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
            return self._regions.get(name) or self._made_up(name)
        if self._special is None:
            raise TypeError("profile() takes a name")
        return self._special(name, category, track_memory)

    def _made_up(self, name: str) -> Region:
        """A region that the program names: beyond MAX_REGIONS those without a meaning share one."""
        if len(self._regions) >= MAX_REGIONS and type(name) is str:
            flags = self._describe(name) if self._describe else 0
            if not flags & ~REGION_BESIDE:
                return self._regions[MORE_REGIONS]
        return self.region(name)

    def _make(self, parent: Node, region: Region) -> Node:
        node = Node(len(self._nodes), parent, region, parent.root)
        self._nodes.append(node)
        return node

    def _child(self, parent: Node, region: Region) -> Node:
        up: Node | None = parent
        while up is not None and up.region is not region:
            up = up.parent
        if up is None:
            if len(self._nodes) >= MAX_NODES:
                return self._overflow[parent.root]
            up = self._make(parent, region)
        parent.children[region] = up
        return up

    def _thread(self) -> Thread:
        thread = self._threads.get(get_ident())
        # An ident is used again when its thread is gone; the Thread object is not.
        if thread is None or (thread.root != 0 and thread.alive is not threading.current_thread()):
            if threading.current_thread() is threading.main_thread():
                root = 0
            else:
                taken = {other.root for other in self._threads.values()}
                root = next((r for r in range(1, MAX_ROOTS) if r not in taken), MAX_ROOTS - 1)
            thread = Thread(root, self._nodes[root], self._clock())
            self._threads[thread.ident] = thread
        return thread

    def _exit_out_of_order(self, thread: Thread, stack: Stack, region: Region, now: int) -> None:
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

    def _close(self, frame: Frame, now: int) -> None:
        node, _, mark, duration, nested, *_ = frame
        if self.enabled and now > mark:
            part = now - mark
            duration += part
            if not nested:
                node.elapsed_ns += part
        if self._slice_room and self.enabled:
            self._keep_slice(node, frame[BEGIN], now)
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

    @staticmethod
    def attach(
        function: Any, make: Callable[[Any], Any], weak: bool = False
    ) -> Callable[[], None] | None:
        """None: nothing can be hooked in place from Python, the caller replaces it."""
        return None

    @staticmethod
    def original(function: Any) -> Any:
        """A callable that runs `function` without the hooks attached to it."""
        return function

    def compiler(self, compiles: int, runs: int) -> None:
        """Nothing to do: no function is hooked in place."""

    def in_graph(self, function: Any) -> None:
        """Nothing to do: no function is hooked in place."""

    def is_open(self, *names: str) -> bool:
        """Whether this thread is inside any of those regions."""
        stack = self._thread().current_stack()
        return any(frame[REGION].name in names for frame in stack.frames)

    def innermost(self) -> str | None:
        """The name of the region that this thread is in; None outside."""
        frames = self._thread().current_stack().frames
        return frames[-1][REGION].name if frames else None

    def main_node(self) -> int:
        """The node that the main thread is in, by its number; asked from any thread."""
        main = next((t for t in list(self._threads.values()) if t.root == 0), None)
        return main.top.id if main is not None else 0

    # -- hotloop's own cost --

    def own(self) -> int:
        """Nanoseconds of hotloop's own work that were taken out since the last call."""
        own, self._own_ns = self._own_ns, 0
        return own

    # -- a trace --

    def trace(self, room: int) -> None:
        """Keep up to `room` slices from now on, until they are taken; 0 keeps none."""
        self._slice_room = room
        self._forget_slices()
        now = self._clock()
        for frame in self._open_frames():
            frame[BEGIN] = now

    def slices(self) -> tuple[bytes, int]:
        """The slices since they were last taken; see the native core's."""
        packed = b"".join(SLICE.pack(begin, end, node, 0) for begin, end, node in self._slices)
        lost = self._slices_lost
        self._forget_slices()
        return packed, lost

    def _forget_slices(self) -> None:
        self._slices: list[tuple[int, int, int]] = []
        self._slices_lost = 0

    def _keep_slice(self, node: Node, begin: int, now: int) -> None:
        if len(self._slices) < self._slice_room:
            self._slices.append((begin, now, node.id))
        else:
            self._slices_lost += 1

    # -- counters --

    def count(self, name: str, n: float = 1) -> None:
        """Add to a counter. NaN and infinity are dropped, and `dropped` counts them."""
        if type(name) is not str or not (hasattr(n, "__index__") or hasattr(n, "__float__")):
            raise TypeError("count(name, n=1): name is a string, n a number")
        if not self.enabled:
            return
        amount: float = int(n) if hasattr(n, "__index__") else float(n)
        try:
            finite = math.isfinite(amount)
        except OverflowError:  # larger than any float
            finite = False
        if not finite:
            self.dropped += 1
            return
        self._counters[name] = self._counters.get(name, 0) + amount
        if self._watched is not None and self._watched[0] == name:
            self._watch_left -= amount
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

    def _open_frames(self) -> list[Frame]:
        return [f for t in self._threads.values() for s in t.stacks.values() for f in s.frames]

    def _count_open(self, now: int) -> None:
        for thread in self._threads.values():
            thread.charge(now)
        for frame in self._open_frames():
            count_frame(frame, now)
            if frame[NODE].flags & REGION_LOOP:
                self._loop_last = now  # the loop is not over while this is open
            if self._slice_room:
                self._keep_slice(frame[NODE], frame[BEGIN], now)
                frame[BEGIN] = now

    def _skip_open(self, now: int) -> None:
        for thread in self._threads.values():
            thread.last = now
        for frame in self._open_frames():
            frame[MARK] = frame[BEGIN] = now

    def skip(self, ns: int) -> None:
        """Subtract `ns` from the open regions of this thread: hotloop's own work inside them."""
        thread = self._thread()
        thread.last += ns
        for frame in thread.current_stack().frames:
            frame[MARK] += ns

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
        """[(node, parent or -1, name, root)] of the nodes made since `start`."""
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
        """The next entry of a loop phase begins a new loop."""
        self.loop_first = self._loop_last = 0

    def after_fork(self) -> None:
        """In a forked child: only this thread exists; the rest was the parent's."""
        current = self._thread()
        current.root = 0
        self._threads = {current.ident: current}
        for node in self._nodes:
            node.forget()
        self._counters = {}
        self.loop_first = self._loop_last = 0
        self._forget_slices()
        self._skip_open(self._clock())

    def leave_all(self) -> None:
        """Close this thread's open regions without counting them: a child that never returns."""
        thread = self._thread()
        stack = thread.current_stack()
        thread.charge(self._clock())
        stack.frames.clear()
        thread.top = stack.top()
