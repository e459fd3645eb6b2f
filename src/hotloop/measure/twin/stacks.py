"""The tree of nodes, and the regions that are open in each task of each thread."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

from hotloop.phases import REGION_ASIDE, REGION_LOOP, REGION_SHALLOW

if TYPE_CHECKING:
    from hotloop.measure.twin.region import Region

MAX_ROOTS = 8

_LONGEST = 1 << 63
modules = sys.modules
ASYNCIO = "asyncio.events"
get_ident = threading.get_ident


class Node:
    """A position in the tree, with its change since the last snapshot."""

    __slots__ = (
        "calls",
        "children",
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

    def __init__(self, id: int, parent: Node | None, region: Region | None, root: int) -> None:
        self.id = id
        self.parent = parent
        self.region = region
        self.root = root
        #: Region -> its node here, made at its first entry.
        self.children: dict[Region, Node] = {}
        self.flags = 0
        if region is not None and parent is not None:
            aside = (parent.flags | region.flags) & REGION_ASIDE
            self.flags = aside or (region.flags & REGION_LOOP)
            self.flags |= region.flags & REGION_SHALLOW
        self.resident_peak = 0
        self.forget()

    def forget(self) -> None:
        self.calls = self.self_ns = self.elapsed_ns = self.max_ns = 0
        self.min_ns = _LONGEST
        self.first_ns = self.last_ns = 0
        self.resident_peak = 0
        self.histogram: dict[int, int] = {}


# A region that is open is a list, the cheapest thing that can be changed in place:
# [its node, the region, counted up to here, counted so far, whether it is a recursion, where the
# slice of a trace began].
Frame = list[Any]
NODE, REGION, MARK, ACTIVE, NESTED, BEGIN = range(6)


def count_frame(frame: Frame, now: int) -> None:
    """Count a frame up to now, and leave it open."""
    part = now - frame[MARK]
    if part > 0:
        frame[ACTIVE] += part
        frame[MARK] = now
        if not frame[NESTED]:
            frame[NODE].elapsed_ns += part


class Stack:
    """The open regions of one task of one thread."""

    __slots__ = ("base", "frames")

    def __init__(self, base: Node) -> None:
        self.base = base
        self.frames: list[Frame] = []

    def top(self) -> Node:
        node: Node = self.frames[-1][NODE] if self.frames else self.base
        return node

    def find(self, region: Region) -> int:
        for index in range(len(self.frames) - 1, -1, -1):
            if self.frames[index][REGION] is region:
                return index
        return -1


class Thread:
    """One thread: its stacks, and the node that is charged now."""

    __slots__ = ("alive", "ident", "last", "root", "stack", "stacks", "task", "top")

    def __init__(self, root: int, base: Node, now: int) -> None:
        self.ident = get_ident()
        self.alive = threading.current_thread()
        self.root = root
        self.task: object = None
        self.stack = Stack(base)
        self.stacks: dict[Any, Stack] = {None: self.stack}
        self.top = base
        self.last = now

    def charge(self, now: int) -> None:
        if now > self.last:
            self.top.self_ns += now - self.last
            self.last = now

    def current_stack(self) -> Stack:
        """The stack of the task that runs now."""
        # A module that is being imported is there without its names.
        running = getattr(modules.get(ASYNCIO), "_get_running_loop", None)
        if running is None or running() is None:
            if self.task is None:
                return self.stack
            task = None
        else:
            task = modules["asyncio"].current_task()
        if task is not self.task:
            for done in [t for t, s in self.stacks.items() if t is not None and not s.frames]:
                del self.stacks[done]
            self.task = task
            self.stack = self.stacks.get(task) or Stack(self.stacks[None].top())
            self.stacks[task] = self.stack
        return self.stack
