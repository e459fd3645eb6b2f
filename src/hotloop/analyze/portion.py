"""The part of a run between two counts of its steps: two runs are compared over the same work.

A run's windows say how far its counters had come at each window's end, and what each phase had
cost by then. Between two window ends both are taken to grow evenly. So a run that went further
than another can be read up to where the other ended, and a warm-up can be left out by steps rather
than by time (a slow run makes fewer steps in its first second than a fast one).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hotloop.analyze.model import Analysis
from hotloop.analyze.tree import RegionCost, add_up, correct
from hotloop.capture.window import Window
from hotloop.words import ENV_STEPS, GRADIENT_STEPS, ITERATIONS, names_of

#: What a run's progress may be counted in, the best first.
UNITS = (ENV_STEPS, ITERATIONS, GRADIENT_STEPS)

#: The name under which time in no phase is kept.
NO_PHASE = ""


@dataclass
class Amounts:
    """Seconds of the loop, seconds of each phase (its own and in all), and counters."""

    seconds: float = 0.0
    own: dict[str, float] = field(default_factory=dict)
    total: dict[str, float] = field(default_factory=dict)
    counters: dict[str, float] = field(default_factory=dict)

    def plus(self, other: Amounts, share: float = 1.0) -> Amounts:
        """This and a share of another; neither changes."""
        return Amounts(
            self.seconds + share * other.seconds,
            _plus(self.own, other.own, share),
            _plus(self.total, other.total, share),
            _plus(self.counters, other.counters, share),
        )


def _plus(first: dict[str, float], second: dict[str, float], share: float) -> dict[str, float]:
    return {
        name: first.get(name, 0.0) + share * second.get(name, 0.0) for name in {**first, **second}
    }


@dataclass(frozen=True)
class Portion:
    """What a run did from one count of its steps to another, and when (seconds of its clock)."""

    amounts: Amounts
    begin_s: float
    end_s: float


class Course:
    """A run's loop, window by window."""

    def __init__(self, analysis: Analysis) -> None:
        cost = _cost_of(analysis)
        self.windows = [amounts_of(window, cost) for window in analysis.loop_windows]
        self._times = [(w.begin_ns / 1e9, w.end_ns / 1e9) for w in analysis.loop_windows]
        self._sums = [Amounts()]
        for amounts in self.windows:
            self._sums.append(self._sums[-1].plus(amounts))

    def reached(self, unit: str) -> float:
        """How many of that unit the loop made."""
        return self._sums[-1].counters.get(unit, 0.0)

    def portion(self, unit: str, first: float, last: float) -> Portion:
        """From when `first` of the unit had been made to when `last` had."""
        begin, begin_s = self._at(unit, first)
        end, end_s = self._at(unit, last)
        return Portion(end.plus(begin, -1.0), begin_s, end_s)

    def between(self, unit: str, first: float, last: float) -> list[Amounts]:
        """The whole windows inside that portion."""
        return [
            amounts
            for before, after, amounts in zip(
                self._sums, self._sums[1:], self.windows, strict=False
            )
            if before.counters.get(unit, 0.0) >= first and after.counters.get(unit, 0.0) <= last
        ]

    def _at(self, unit: str, count: float) -> tuple[Amounts, float]:
        if not self.windows:
            return Amounts(), 0.0
        if count <= 0:
            return Amounts(), self._times[0][0]
        counts = [amounts.counters.get(unit, 0.0) for amounts in self._sums]
        if count >= counts[-1]:
            return self._sums[-1], self._times[-1][1]
        index = bisect_left(counts, count)
        share = (count - counts[index - 1]) / (counts[index] - counts[index - 1])
        begin_s, end_s = self._times[index - 1]
        at = self._sums[index - 1].plus(self.windows[index - 1], share)
        return at, begin_s + share * (end_s - begin_s)


def common_unit(courses: Iterable[Course]) -> str | None:
    """What the progress of all these runs can be counted in; None where there is nothing."""
    known = list(courses)
    for unit in UNITS:
        if known and all(course.reached(unit) > 0 for course in known):
            return unit
    return None


def largest_share(windows: Sequence[Amounts], counter: str) -> float:
    """The largest part of a counter that fell into one window: how coarsely it is known."""
    amounts = [window.counters.get(counter, 0.0) for window in windows]
    whole = sum(amounts)
    return max(amounts) / whole if whole > 0 else 0.0


def amounts_of(window: Window, cost: RegionCost) -> Amounts:
    """A window's times without what measuring cost, by the name of each phase."""
    places = {p: d for p, d in window.phases.items() if not p.startswith("@thread")}
    one = Window(window.first, window.last, window.begin_ns, window.end_ns, places)
    corrected = correct(add_up([one]), cost)
    amounts = Amounts(counters=dict(window.counters))
    # As in `analysis`: what hooks took between regions is in no region, only in the whole.
    own_cost = sum(window.gauges.get(name, 0.0) for name in ("sampler_ns", "hooks_ns")) / 1e9
    for path, times in corrected.items():
        name = (names_of(path) or [NO_PHASE])[-1]
        amounts.own[name] = amounts.own.get(name, 0.0) + times.self_s
        if name != NO_PHASE:
            amounts.total[name] = amounts.total.get(name, 0.0) + times.total_s
            own_cost += times.cost_s
    amounts.seconds = max(window.seconds - own_cost, 0.0)
    return amounts


def _cost_of(analysis: Analysis) -> RegionCost:
    cost = analysis.run.header.get("cost")
    # The analysis has already judged what the header says; a share is all that is missing.
    if not isinstance(cost, dict) or not analysis.overhead.corrected:
        return RegionCost()
    inside = cost.get("inside_ns")
    if not isinstance(inside, (int, float)):
        return RegionCost()
    inside = min(max(float(inside), 0.0), analysis.overhead.region_ns)
    return RegionCost(inside, analysis.overhead.region_ns - inside)
