"""A timed Petri net and its simulator: the part of the program that knows nothing about learning.

A net is places that hold tokens, transitions that move them, and arcs with weights. Firing a
transition takes its input tokens at once and delivers its output tokens when its firing time has
passed, so several transitions can be under way together. The simulator keeps the clock.

Finding the enabled transitions is the inner loop of every simulation. It can be done by scanning
the whole net after each change, or incrementally (`turbo`), by looking again only at transitions
that read a place whose tokens changed. Both give the same answer in every state.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

Arc = tuple[int, int]
"""A place's index and the number of tokens that pass along the arc."""


class NotEnabledError(ValueError):
    """A transition was fired while its input places did not hold enough tokens."""


@dataclass(frozen=True)
class Transition:
    """Takes tokens from its inputs, and gives tokens to its outputs `duration` later."""

    name: str
    inputs: tuple[Arc, ...]
    outputs: tuple[Arc, ...]
    duration: int = 0


@dataclass(frozen=True)
class PetriNet:
    """The structure of a net, which does not change while it is simulated."""

    places: tuple[str, ...]
    transitions: tuple[Transition, ...]
    initial_marking: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.initial_marking) != len(self.places):
            raise ValueError("the initial marking needs one count for each place")
        if any(tokens < 0 for tokens in self.initial_marking):
            raise ValueError("a place cannot hold fewer than zero tokens")
        for transition in self.transitions:
            self._check(transition)

    def _check(self, transition: Transition) -> None:
        if transition.duration < 0:
            raise ValueError(f"{transition.name}: a firing time cannot be negative")
        for arcs in (transition.inputs, transition.outputs):
            if any(not 0 <= place < len(self.places) for place, _ in arcs):
                raise ValueError(f"{transition.name}: an arc leads to a place that does not exist")
            if any(weight < 1 for _, weight in arcs):
                raise ValueError(f"{transition.name}: an arc's weight must be at least 1")
            if len({place for place, _ in arcs}) != len(arcs):
                # Two arcs would be checked one by one, and could together ask for too much.
                raise ValueError(f"{transition.name}: two arcs to one place; add their weights")

    @cached_property
    def readers(self) -> tuple[tuple[int, ...], ...]:
        """For each place, the transitions that take tokens from it."""
        found: list[list[int]] = [[] for _ in self.places]
        for index, transition in enumerate(self.transitions):
            for place, _ in transition.inputs:
                found[place].append(index)
        return tuple(tuple(indices) for indices in found)


class Simulator:
    """One run of a net: its marking, its clock and the transitions that are under way."""

    def __init__(self, net: PetriNet, *, turbo: bool = True) -> None:
        self.net = net
        self.turbo = turbo
        self.reset()

    def reset(self) -> None:
        """Go back to the initial marking at time zero."""
        self.clock = 0
        self.marking = list(self.net.initial_marking)
        self.enabled = [False] * len(self.net.transitions)
        self._in_flight: list[tuple[int, int]] = []
        self._scan_all()

    @property
    def in_flight(self) -> list[tuple[int, int]]:
        """The (finishing time, transition) pairs under way, in no particular order."""
        return self._in_flight

    @property
    def is_dead(self) -> bool:
        """Whether nothing can ever happen again: nothing is enabled and nothing is under way."""
        return not self._in_flight and True not in self.enabled

    def fire(self, index: int) -> None:
        """Start a transition now; without a firing time it also finishes now."""
        transition = self.net.transitions[index]
        if not self.enabled[index]:
            raise NotEnabledError(f"transition {transition.name!r} is not enabled")
        for place, weight in transition.inputs:
            self.marking[place] -= weight
        if transition.duration == 0:
            self._deliver(transition)
            self._tokens_changed((transition.inputs, transition.outputs))
        else:
            heapq.heappush(self._in_flight, (self.clock + transition.duration, index))
            self._tokens_changed((transition.inputs,))

    def advance(self) -> int:
        """Move the clock to the next completion and return the time that passed.

        All transitions that finish at that moment deliver their tokens together.
        """
        if not self._in_flight:
            raise ValueError("nothing is under way, so there is nothing to wait for")
        finish_time = self._in_flight[0][0]
        changed: list[tuple[Arc, ...]] = []
        while self._in_flight and self._in_flight[0][0] == finish_time:
            transition = self.net.transitions[heapq.heappop(self._in_flight)[1]]
            self._deliver(transition)
            changed.append(transition.outputs)
        elapsed = finish_time - self.clock
        self.clock = finish_time
        self._tokens_changed(changed)
        return elapsed

    def _deliver(self, transition: Transition) -> None:
        for place, weight in transition.outputs:
            self.marking[place] += weight

    def _tokens_changed(self, changed: Iterable[tuple[Arc, ...]]) -> None:
        if self.turbo:
            self._scan_readers(changed)
        else:
            self._scan_all()

    def _scan_all(self) -> None:
        for index in range(len(self.net.transitions)):
            self.enabled[index] = self._has_its_tokens(index)

    def _scan_readers(self, changed: Iterable[tuple[Arc, ...]]) -> None:
        readers = self.net.readers
        for arcs in changed:
            for place, _ in arcs:
                for index in readers[place]:
                    self.enabled[index] = self._has_its_tokens(index)

    def _has_its_tokens(self, index: int) -> bool:
        marking = self.marking
        for place, weight in self.net.transitions[index].inputs:  # noqa: SIM110 (hot loop)
            if marking[place] < weight:
                return False
        return True
