"""Plans stretches: when calls are measured, and when most hooks rest.

Everything is measured for the first half minute of the loop, and again after every change of
behavior: learning begins, a phase appears, the rate of steps drifts, the loop stalls. Then only
stretches of whole iterations are measured, at random moments (`native/stretches.c`), and the
measured share falls with the time since the last change, down to a few percent.

A loop qualifies where one region, the *head*, is entered again and again at one place of the region
tree, outside every other phase of the loop, in one thread. Anything else stays measured in full.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from hotloop import phases
from hotloop.capture import schema
from hotloop.capture.window import Window
from hotloop.phases import name_at

#: Seconds of the loop that are measured in full, at its beginning and after every change.
FULL_S = 30.0
#: Smallest share of the time that is measured. At 3%, a run of ten minutes has measured a minute.
LOWEST_SHARE = 0.03
#: Largest share, right after measuring in full: about one stretch per second.
HIGHEST_SHARE = 0.1
#: Seconds that stretches measure, about, before their share falls.
MEASURED_S = 10.0
#: Shortest stretch: long enough that the caches are warm for most of it.
STRETCH_S = 0.1
#: Iterations to measure before assuming that the next ones are alike.
FEWEST_ITERATIONS = 4
#: Calls per second below which a hook or a region of the program's own need not rest.
RARE_PER_S = 5.0
#: Phases that never rest: a report shows each call, and resets mark where episodes begin.
ALWAYS_ON = frozenset({"evaluate", "checkpoint", "env.reset"})
#: Steps per second that differ by more than this factor from the block before are a change.
DRIFT = 1.5
#: Resting iterations that are late by this factor, and at least this long, are a stall.
LATE, LATE_S = 10.0, 3.0


class StretchingCore(Protocol):
    """The part of the native core that is used here; the twin measures every call."""

    @property
    def head_entries(self) -> int: ...
    def stretches(
        self,
        head: str | None,
        depth: int,
        measured: int,
        rest: int,
        rested: list[str],
        counters: frozenset[str],
    ) -> None: ...


class Stretches:
    """Decides after every window of one process."""

    def __init__(
        self,
        core: StretchingCore,
        gauges: dict[str, float],
        rested: set[str],
        full_s: float = FULL_S,
    ) -> None:
        self._core = core
        self._gauges = gauges
        #: Seconds to measure in full.
        self._longest_full_s = full_s
        #: Phases that rest between stretches, of every plan so far.
        self._rested = rested
        #: Phases that were seen before the last change; another one is a change.
        self._known: set[str] = set()
        #: Heads that cannot be used: their regions are not of hooks, so entries go unnoticed.
        self._unfit: set[str] = set()
        self._learns = False
        self._begin()

    def _begin(self) -> None:
        """Measure every call for a while."""
        self._core.stretches(None, 0, 0, 0, [], schema.RESTED_COUNTERS)
        self._head = ""
        self._calls: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._full_s = self._since_s = self._late_s = 0.0
        self._block = _Block()
        self._rate = 0.0
        self._entries = 0

    def take(self, window: Window) -> None:
        """A window has closed: measure less, or everything again."""
        if not window.loop_last_ns:
            return
        self._since_s += window.seconds
        if not self._head:
            self._take_measured(window)
        elif self._has_changed(window):
            self._begin()
        else:
            self._plan()
        self._gauges[schema.STRETCHES] = 1 if self._head else 0

    def _take_measured(self, window: Window) -> None:
        self._full_s += window.seconds
        for path, delta in window.phases.items():
            self._calls[path] += delta.calls
        self._counts.update({name: int(n) for name, n in window.counters.items()})
        if self._full_s < self._longest_full_s:
            return
        self._head = self._choose_head()
        if self._head:
            self._learns = self._counts[schema.GRADIENT_STEPS] > 0
            self._known |= {name_at(path) for path in self._calls}
            self._rate = self._calls[self._head] / self._full_s
            self._rested |= {name for name in self._names() if self._rests(name)}
            self._entries = self._core.head_entries
            self._plan()

    # -- the loop --

    def _names(self) -> set[str]:
        return {name_at(path) for path, calls in self._calls.items() if calls}

    def _rests(self, name: str) -> bool:
        """Phases of the loop, and other phases with many calls.

        A rare phase of the loop rests as well: it may be inferred, or entered by a hook of networks
        or tensors, and those rest all together.
        """
        if name in ALWAYS_ON:
            return False
        calls = sum(n for path, n in self._calls.items() if name_at(path) == name)
        together = name in phases.LOOP_PHASES or name == "transfer"
        return together or calls > RARE_PER_S * self._full_s

    def _choose_head(self) -> str:
        """The path with the most calls of those that qualify; empty without one."""
        if any(phases.is_of_thread(path) and _is_loop(path) for path in self._calls):
            return ""
        fit = [
            path
            for path, calls in self._calls.items()
            if calls >= FEWEST_ITERATIONS * self._cycle(calls) and self._is_fit(path)
        ]
        return max(fit, key=lambda path: self._calls[path], default="")

    def _is_fit(self, path: str) -> bool:
        *above, name = phases.names_of(path) or [""]
        elsewhere = any(p != path and name_at(p) == name and n for p, n in self._calls.items())
        return (
            name in phases.LOOP_BEGINS
            and path not in self._unfit
            and not elsewhere
            and not any(each in phases.PHASES for each in above)
        )

    def _cycle(self, calls: int) -> int:
        """Entries of the head from one update to the next: a stretch is a multiple of it."""
        rounds = self._counts[schema.LEARN_EVENTS] or self._counts[schema.ITERATIONS]
        return max(round(calls / rounds), 1) if rounds else 1

    def _plan(self) -> None:
        share = min(max(MEASURED_S / self._since_s, LOWEST_SHARE), HIGHEST_SHARE)
        cycle = self._cycle(self._calls[self._head])
        measured = cycle * max(round(STRETCH_S * self._rate / cycle), 1)
        rest = max(round(measured * (1 / share - 1)), 1)
        name = name_at(self._head)
        depth = self._head.count("/")
        self._core.stretches(
            name, depth, measured, rest, sorted(self._rested), schema.RESTED_COUNTERS
        )

    # -- changes --

    def _has_changed(self, window: Window) -> bool:
        appeared = {name_at(path) for path in window.phases} - self._known - {phases.REST, ""}
        learns = window.counters.get(schema.GRADIENT_STEPS, 0) > 0
        drifted = self._block.drifted(window)
        began = learns and not self._learns
        return bool(appeared & set(phases.PHASES)) or began or drifted or self._stalls(window)

    def _stalls(self, window: Window) -> bool:
        entries, self._entries = self._entries, self._core.head_entries
        if entries != self._entries:
            self._late_s = 0.0
            return False
        self._late_s += window.seconds
        if self._late_s < max(LATE / self._rate, LATE_S):
            return False
        if self._since_s - self._full_s <= self._late_s:
            self._unfit.add(self._head)  # no hook reported entering it
        return True


class _Block:
    """Environment steps per second, compared over blocks of half a minute."""

    def __init__(self) -> None:
        self._before: float | None = None
        self._steps = self._seconds = 0.0

    def drifted(self, window: Window) -> bool:
        self._steps += window.counters.get(schema.ENV_STEPS, 0)
        self._seconds += window.seconds
        if self._seconds < FULL_S:
            return False
        before, self._before = self._before, self._steps / self._seconds
        self._steps = self._seconds = 0.0
        rates = sorted((before, self._before)) if before is not None else [0.0, 0.0]
        return rates[1] > DRIFT * rates[0]


def _is_loop(path: str) -> bool:
    return any(name in phases.LOOP_BEGINS for name in phases.names_of(path))
