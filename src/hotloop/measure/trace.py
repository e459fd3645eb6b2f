"""Keeps single calls for a trace, within a budget: `run --trace`.

Until half of the budget is used, every call is kept. After that, whole windows are kept, with
increasing pauses in between, so that the trace of a long run still shows its middle and its end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hotloop.capture.slices import SLICE, SliceWriter

if TYPE_CHECKING:
    from hotloop.measure.core import Core

#: Calls kept of the main process: about 5 MB in the capture, 20 MB as a Chrome trace.
MOST_SLICES = 200_000
#: A worker keeps this fraction: there may be many, and they all do the same.
WORKERS_PART = 8


class Tracer:
    """One process's trace: decides when to keep calls, and hands them to the capture."""

    def __init__(
        self,
        core: Core,
        open_file: Callable[[], SliceWriter],
        most: int,
        warn: Callable[[str], None],
    ) -> None:
        self._core = core
        self._open_file = open_file
        self._warn = warn
        self._writer: SliceWriter | None = None
        self._left = most
        self._all_until = most // 2
        self._room = 0
        self._pause = 1
        self._waiting = 0
        self._paused = False
        #: Blocks that are not written yet: the thread that closes a window may be the training's.
        self._blocks: list[tuple[bytes, int, int, list[str]]] = []

    def start(self) -> None:
        """Keep calls from now on."""
        self._begin(self._left - self._all_until)

    def take(self, end_ns: int, paths: list[str]) -> None:
        """A window has closed: keep its calls, and decide about the next."""
        if self._paused:
            return
        if self._room:
            self._keep(end_ns, paths)
        elif self._left > 0:
            self._waiting -= 1
            if self._waiting <= 0:
                # A quarter of the rest, so that a burst does not use all of it.
                self._begin(max(self._left // 4, 1))

    def pause(self, end_ns: int, paths: list[str]) -> None:
        """A recording needs the slices for a while; write those kept so far."""
        if self._room:
            self._keep(end_ns, paths)
        self._paused = True

    def resume(self) -> None:
        """Keep calls again, if it was doing so."""
        self._paused = False
        if self._room:
            self._begin(self._room)

    def finish(self) -> None:
        """Stop keeping calls and complete the file."""
        self._stop()
        self.write()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def write(self) -> None:
        """Write the kept calls; if the disk cannot take them, the trace ends."""
        while self._blocks:
            block = self._blocks.pop(0)
            try:
                if self._writer is None:
                    self._writer = self._open_file()
                self._writer.block(*block)
            except OSError as error:
                self._warn(f"the trace cannot be written ({error.strerror}); training continues")
                self._left = 0
                self._stop()
                self._blocks.clear()

    def _keep(self, end_ns: int, paths: list[str]) -> None:
        packed, lost = self._core.slices()
        count = len(packed) // SLICE.size
        if packed or lost:
            self._blocks.append((packed, lost, end_ns, paths))
        self._left -= count
        if self._left > self._all_until and not lost:
            return
        self._stop()
        self._waiting = self._pause
        self._pause *= 2

    def _begin(self, room: int) -> None:
        self._room = min(room, self._left)
        self._core.trace(self._room)

    def _stop(self) -> None:
        if self._room:
            self._room = 0
            self._core.trace(0)


def most_slices(asked: int, role: str) -> int:
    """How many calls a process of that role may keep."""
    return asked if role == "main" else max(asked // WORKERS_PART, 1)
