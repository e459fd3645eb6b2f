"""Whether autograd's graphs are used and freed: of the calls that act, and of those that learn.

Now and then a network's answer is looked at. A mark in the metadata of some of its graph's nodes
dies with the node, so that a weak reference to the mark says whether the graph still lives; a hook
on the node says whether a backward pass ever came through. Neither touches a tensor.
"""

from __future__ import annotations

import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

from hotloop.hooks.batch import SHOWN_LOSSES
from hotloop.hooks.plain_loop import ACT, BACKWARD, FORWARD, flow
from hotloop.hooks.torch import ACT_INSIDE

if TYPE_CHECKING:
    from hotloop.hooks.facts import Facts

#: One answer in so many is looked at: of acts, and of learning passes, of which an update may have
#: two or four (a prime lets each have its turn). Of those, so many graphs of each kind are marked
#: at first, and so many in a window later: that takes about as long as a small network.
EVERY, EVERY_FORWARD = 32, 31
MARKED_AT_FIRST, MARKED_A_WINDOW = 32, 4
#: Nodes that are marked: what a program keeps may hold only a part of a graph.
_NODES = 24
#: Graphs that are watched at one time, and how many calls later one should long be gone: longer
#: than the updates of one iteration, whose losses programs rightly add up.
_WATCHED = 64
OLD = 256


#: Kind of places, for `missing-no-grad`, and learning passes whose lines are looked at for it.
ACTS_WITH_GRAPH = "acts with a graph"
MOST_PLACED = 10_000


class _Mark:
    """Lives as long as the node that holds it."""

    __slots__ = ("__weakref__",)


class Graphs:
    """Watches some graphs, from their making to their end."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._count = facts.count
        self._calls = 0
        self._acts = 0
        self._skipped = self._skips_counted = 0
        self._forwards = self._unshown = 0
        self._backwards = 0
        #: Kind -> graphs that may still be marked in this window.
        self._to_mark = dict.fromkeys((ACT, FORWARD, BACKWARD), MARKED_AT_FIRST)
        #: (call at which it was made, its marks)
        self._watched: deque[tuple[int, list[weakref.ref[Any]]]] = deque(maxlen=_WATCHED)
        self._on = True

    def stop(self) -> None:
        self._on = False

    @property
    def backwards(self) -> int:
        """Backward passes so far."""
        return self._backwards

    def saw(self, kind: int, result: Any) -> None:
        """A network has answered, or a loss went backward."""
        if kind == BACKWARD:
            self._backwards += SHOWN_LOSSES  # this one, and those that are not shown
            self._went_back(result)
            return
        acts, forwards = flow.skipped()
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
            # After so many that were not shown this is the one that is.
            if self._unshown >= EVERY_FORWARD - 1 or self._forwards % EVERY_FORWARD == 1:
                self._unshown = 0
                self._learned(result)

    def _skip_acts(self, calls: int) -> None:
        """So many calls acted without a graph and were not shown: as if one in so many had been."""
        self._skipped += calls
        looks = self._skipped // EVERY - self._skips_counted
        if looks:
            self._skips_counted += looks
            self._count("acts_seen", looks)

    def _acted(self, result: Any) -> None:
        self._count("acts_seen", 1)
        nodes = _nodes_of(result)
        if not nodes:
            return
        self._count("acts_with_graph", 1)
        if self._may_mark(ACT):
            self._count("act_graphs_watched", 1)
            for node in nodes:
                node.register_hook(self._used)
            self._facts.places.note_stack(ACTS_WITH_GRAPH)
            self._mark(nodes)

    def _learned(self, result: Any) -> None:
        nodes = _nodes_of(result)
        if nodes:
            self._count("forwards_with_graph", 1)
            # Before anything was learned, what a call is for is a guess.
            if self._backwards and self._forwards < MOST_PLACED:
                # A method that acts and learns must keep its gradients: who calls it may not.
                self._facts.places.note_elsewhere(ACTS_WITH_GRAPH)
            if self._may_mark(FORWARD):
                self._mark(nodes)

    def _went_back(self, loss: Any) -> None:
        nodes = _nodes_of(loss)
        if nodes and self._may_mark(BACKWARD):
            self._mark(nodes)

    def _may_mark(self, kind: int) -> bool:
        self._to_mark[kind] -= 1
        return self._to_mark[kind] >= 0

    def _used(self, *_: Any) -> None:
        if self._on:
            self._count("act_graphs_used", 1)

    def _mark(self, nodes: list[Any]) -> None:
        """Mark the nodes nearest to these."""
        marks: list[weakref.ref[Any]] = []
        waiting = deque(nodes)
        while waiting and len(marks) < _NODES:
            node = waiting.popleft()
            mark = _Mark()
            node.metadata["hotloop"] = mark
            marks.append(weakref.ref(mark))
            waiting += [inner for inner, _ in node.next_functions if _is_inner(inner)]
        self._watched.append((self._seen(), marks))

    def _seen(self) -> int:
        return self._acts + self._skipped + self._forwards + self._backwards

    def look(self) -> None:
        """Once a second: of the graphs that should be gone, which share lives?"""
        for kind, left in self._to_mark.items():
            self._to_mark[kind] = max(left, MARKED_A_WINDOW)
        now = self._seen()
        old = [marks for made, marks in list(self._watched) if now - made >= OLD]
        for marks in old:
            marks[:] = [ref for ref in marks if ref() is not None]  # the dead stay dead
        if old:
            self._facts.gauge("graphs_alive", sum(map(bool, old)) / len(old))


#: Tensors of one answer that are looked at, and things that are searched for them.
_TENSORS, _THINGS = 4, 24


def _nodes_of(result: Any) -> list[Any]:
    """The graph's nodes of the first tensors in a network's answer; none if there is no graph.

    A policy may answer with a distribution, a pair, a dictionary: whichever of its tensors a
    program goes back through, the graph was used.
    """
    nodes: list[Any] = []
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


def _is_inner(node: Any) -> bool:
    """A node between the answer and the weights: those of the weights live as long as they."""
    return node is not None and type(node).__name__ != "AccumulateGrad"
