"""Region: a named piece of code, and functions wrapped in it."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from hotloop.histogram import STEPS, STEPS_BITS
from hotloop.measure.twin.stacks import (
    ASYNCIO,
    BEGIN,
    MARK,
    NODE,
    REGION,
    Stack,
    Thread,
    get_ident,
    modules,
)
from hotloop.phases import REGION_LOOP

if TYPE_CHECKING:
    from hotloop.measure.twin.core import Core

_BITS_KEPT = STEPS_BITS + 1


class Region:
    """A named piece of code: a context manager that can be entered any number of times."""

    __slots__ = ("_core", "entered", "flags", "name")

    def __init__(self, core: Core | None, name: str, flags: int) -> None:
        self._core = core
        self.name = name
        self.flags = flags
        #: How often, in all threads.
        self.entered = 0

    def __repr__(self) -> str:
        return f"<Region {self.name!r}>"

    def __reduce__(self) -> Any:
        if self._core is None:
            raise TypeError("a region that is off cannot be pickled")
        return self._core.region, (self.name,)

    # The hot path. Every call and every attribute counts here, so what `_close` and `bucket_of`
    # do for all others is inlined in `exit`.

    def enter(self) -> Region:
        core = self._core
        if core is None or not core.enabled:
            return self
        thread = core._threads.get(get_ident()) or core._thread()
        stack = thread.stack
        if ASYNCIO in modules and (
            thread.task is not None or modules[ASYNCIO]._get_running_loop() is not None
        ):
            stack = thread.current_stack()
        frames = stack.frames
        parent = frames[-1][NODE] if frames else stack.base
        node = parent.children.get(self) or core._child(parent, self)
        if node.flags & REGION_LOOP and not core.loop_first:
            core._begin_loop()
        frame = [node, self, 0, 0, node.parent is not parent, 0]
        frames.append(frame)
        self.entered += 1
        top, thread.top = thread.top, node
        frame[MARK] = frame[BEGIN] = now = core._clock()
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
        thread = core._threads.get(get_ident()) or core._thread()
        stack = thread.stack
        if ASYNCIO in modules and (
            thread.task is not None or modules[ASYNCIO]._get_running_loop() is not None
        ):
            stack = thread.current_stack()
        frames = stack.frames
        if not core.enabled or not frames or frames[-1][REGION] is not self:
            self._exit_slowly(core, thread, stack, now)
            return
        node, _, mark, duration, nested, begin = frames.pop()
        if now > thread.last:
            thread.top.self_ns += now - thread.last
            thread.last = now
        thread.top = frames[-1][NODE] if frames else stack.base
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
            core._keep_slice(node, begin, now)

    __exit__ = exit

    def _exit_slowly(self, core: Core, thread: Thread, stack: Stack, now: int) -> None:
        """Disabled, or out of order."""
        if core.enabled:
            thread.charge(now)
        frames = stack.frames
        if not frames or frames[-1][REGION] is not self:
            core._exit_out_of_order(thread, stack, self, now)
            return
        frame = frames.pop()
        core._close(frame, now)
        thread.top = stack.top()

    def wrap(
        self,
        function: Callable[..., Any],
        after: Callable[..., Any] | None = None,
        outermost: bool = False,
        always: bool = False,
        instead: Callable[..., Any] | None = None,
    ) -> Callable[..., Any]:
        """`function` inside this region; see the native core's `wrap`."""
        core = self._core
        if core is None:  # the region that does nothing
            return function
        notes = [after]

        def timed(*args: Any, **kwargs: Any) -> Any:
            inside = (outermost or instead is not None) and core.is_open(self.name)
            if instead is not None and core.enabled and not inside:
                return instead(*args, **kwargs)
            if not core.enabled or inside:
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
                    note(result, *args, **kwargs)
                except Exception as error:
                    core.failures[self.name] = repr(error)
                    notes[0] = None
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
