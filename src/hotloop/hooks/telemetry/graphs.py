"""Whether autograd graphs are used and freed, in calls that act and in calls that learn.

Some outputs of networks are inspected. A mark in the metadata of some nodes of the graph dies with
the node, so a weak reference to the mark shows whether the graph is still alive; a hook on the node
shows whether a backward pass ever reached it. Neither touches a tensor.
"""

from __future__ import annotations

import weakref
from collections import deque
from typing import TYPE_CHECKING

from hotloop.capture import schema
from hotloop.hooks.inference.events import ACT, ACT_INSIDE, BACKWARD, FORWARD
from hotloop.hooks.inference.updates import SHOWN_LOSSES
from hotloop.hooks.protocols import Foreign
from hotloop.measure.core import native_constant

if TYPE_CHECKING:
    from hotloop.hooks.telemetry.collect import Telemetry

#: One output in this many is inspected: of acts, and of learning passes, of which an update may
#: have two or four (a prime lets each have its turn).
EVERY = native_constant("SHOWN_ACTS", 32)
EVERY_FORWARD = native_constant("SHOWN_FORWARDS", 31)
#: Graphs of each kind that are marked at first, and per window later: marking one takes about as
#: long as a small network.
MARKED_AT_FIRST, MARKED_A_WINDOW = 32, 4
#: Number of nodes to mark: objects that a program keeps may hold only a part of a graph.
_NODES = 24
#: Graphs that are watched at a time, and how many calls later one should long be freed: more than
#: the updates of one iteration, whose losses programs rightly add up.
_WATCHED = 64
OLD = 256


#: Learning passes whose source lines are recorded, for `missing-no-grad`.
MOST_ATTRIBUTED = 10_000


class _Lifetime:
    """Lives as long as the node that holds it."""

    __slots__ = ("__weakref__",)


class Graphs:
    """Watches some graphs, from their creation until they are freed."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._count = telemetry.count
        self._flow = telemetry.context.flow
        self._calls = 0
        self._acts = 0
        self._skipped = self._skips_counted = 0
        self._forwards = self._unshown = 0
        self._backwards = 0
        #: Kind -> graphs that may still be marked in this window.
        self._to_mark = dict.fromkeys((ACT, FORWARD, BACKWARD), MARKED_AT_FIRST)
        #: (call at which it was made, its marks)
        self._watched: deque[tuple[int, list[weakref.ref[_Lifetime]]]] = deque(maxlen=_WATCHED)
        self._on = True

    def stop(self) -> None:
        self._on = False

    @property
    def backwards(self) -> int:
        """Backward passes so far."""
        return self._backwards

    def saw(self, kind: int, result: Foreign) -> None:
        """A network was called, or a loss went backward."""
        if kind == BACKWARD:
            self._backwards += SHOWN_LOSSES  # this one, and those that are not shown
            self._went_back(result)
            return
        acts, forwards = self._flow.skipped()
        if acts:
            self._skip_acts(acts)
        self._forwards += forwards
        self._unshown += forwards
        if kind == ACT_INSIDE:
            self._acts += 1
            self._acted(result)
        elif kind == ACT:
            self._acts += 1
            if self._acts % EVERY == 1:
                self._acted(result)
        elif kind == FORWARD:
            self._forwards += 1
            # After this many that were not shown, this one is inspected.
            if self._unshown >= EVERY_FORWARD - 1 or self._forwards % EVERY_FORWARD == 1:
                self._unshown = 0
                self._learned(result)

    def _skip_acts(self, calls: int) -> None:
        """These calls acted without a graph and were not shown: one in EVERY counts as seen."""
        self._skipped += calls
        looks = self._skipped // EVERY - self._skips_counted
        if looks:
            self._skips_counted += looks
            self._count(schema.ACTS_SEEN, looks)

    def _acted(self, result: Foreign) -> None:
        self._count(schema.ACTS_SEEN, 1)
        nodes = _nodes_of(result)
        if not nodes:
            return
        self._count(schema.ACTS_WITH_GRAPH, 1)
        if self._may_mark(ACT):
            self._count(schema.ACT_GRAPHS_WATCHED, 1)
            for node in nodes:
                node.register_hook(self._used)
            self._telemetry.lines.note_stack(schema.CALL_ACT_WITH_GRAPH)
            self._mark(nodes)

    def _learned(self, result: Foreign) -> None:
        nodes = _nodes_of(result)
        if nodes:
            self._count(schema.FORWARDS_WITH_GRAPH, 1)
            # Before anything was learned, the purpose of a call is a guess.
            if self._backwards and self._forwards < MOST_ATTRIBUTED:
                # A method that acts and learns must keep its gradients; its caller need not.
                self._telemetry.lines.note_elsewhere(schema.CALL_ACT_WITH_GRAPH)
            if self._may_mark(FORWARD):
                self._mark(nodes)

    def _went_back(self, loss: Foreign) -> None:
        nodes = _nodes_of(loss)
        if nodes and self._may_mark(BACKWARD):
            self._mark(nodes)

    def _may_mark(self, kind: int) -> bool:
        self._to_mark[kind] -= 1
        return self._to_mark[kind] >= 0

    def _used(self, *_: object) -> None:
        if self._on:
            self._count(schema.ACT_GRAPHS_USED, 1)

    def _mark(self, nodes: list[Foreign]) -> None:
        """Mark the nodes nearest to these."""
        marks: list[weakref.ref[_Lifetime]] = []
        waiting = deque(nodes)
        while waiting and len(marks) < _NODES:
            node = waiting.popleft()
            mark = _Lifetime()
            node.metadata["hotloop"] = mark
            marks.append(weakref.ref(mark))
            waiting += [inner for inner, _ in node.next_functions if _is_inner(inner)]
        self._watched.append((self._seen(), marks))

    def _seen(self) -> int:
        return self._acts + self._skipped + self._forwards + self._backwards

    def read(self) -> None:
        """Once per window: of the graphs that should be freed, which share is alive?"""
        for kind, left in self._to_mark.items():
            self._to_mark[kind] = max(left, MARKED_A_WINDOW)
        now = self._seen()
        old = [marks for made, marks in list(self._watched) if now - made >= OLD]
        for marks in old:
            marks[:] = [ref for ref in marks if ref() is not None]  # drop dead references
        if old:
            self._telemetry.gauge(schema.GRAPHS_ALIVE, sum(map(bool, old)) / len(old))


#: Tensors of one output that are inspected, and objects that are searched for them.
_TENSORS, _THINGS = 4, 24


def _nodes_of(result: Foreign) -> list[Foreign]:
    """The graph's nodes of the first tensors in a network's output; none if there is no graph.

    A policy may return a distribution, a pair, a dictionary: whichever of its tensors a backward
    pass starts from, the graph was used.
    """
    nodes: list[Foreign] = []
    waiting = deque([result])
    for _ in range(_THINGS):
        if not waiting or len(nodes) == _TENSORS:
            break
        thing = waiting.popleft()
        if isinstance(thing, (list, tuple)):
            waiting.extend(thing)
        elif isinstance(thing, dict):
            waiting.extend(thing.values())
        elif type(thing).__module__.startswith("torch.distributions"):
            waiting.extend(vars(thing).values())
        elif (node := getattr(thing, "grad_fn", None)) is not None:
            nodes.append(node)
    return nodes


def _is_inner(node: Foreign) -> bool:
    """A node between the output and the weights: those of the weights live as long as they."""
    return node is not None and type(node).__name__ != "AccumulateGrad"
