"""A run series: the values of a run over time, in points of a window or more.

All figures over time come from here: charts and live views read the points, comparisons read a step
range (the part of a run between two step counts), and trends fit lines through the points.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hotloop.analyze.correction import add_up, correct
from hotloop.analyze.timeline import LOOP, split_timeline
from hotloop.capture import schema
from hotloop.capture.reader import Shard
from hotloop.capture.schema import ENV_STEPS, EPISODES, GRADIENT_STEPS, ITERATIONS, SAMPLES
from hotloop.capture.values import NO_COST, RegionCost
from hotloop.capture.window import Window, merge_gauges
from hotloop.phases import NO_PHASE, is_of_thread, names_of

if TYPE_CHECKING:
    from hotloop.analyze.model import Analysis  # which has trends, which are made of points

#: More points than a screen can show.
MOST_POINTS = 240

#: Counters that measure progress, the best first.
UNITS = (ENV_STEPS, ITERATIONS, GRADIENT_STEPS)


@dataclass
class SeriesPoint:
    """Part of a run: the time of each phase, the counters, and the state at its end."""

    begin_s: float = 0.0
    end_s: float = 0.0
    part: str = LOOP
    #: Without hotloop's own cost.
    seconds: float = 0.0
    #: Phase -> own and total seconds, on the main thread. "" is time in no phase.
    own: dict[str, float] = field(default_factory=dict)
    total: dict[str, float] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    counters: dict[str, float] = field(default_factory=dict)
    gauges: dict[str, float] = field(default_factory=dict)
    #: Phase -> phases inside it.
    below: dict[str, set[str]] = field(default_factory=dict)
    #: Progress of the loop in the middle of this point, in the unit of its series: environment
    #: steps, gradient steps where there are none, else seconds.
    position: float = 0.0

    @property
    def wall_s(self) -> float:
        return self.end_s - self.begin_s

    @property
    def steps(self) -> float:
        return self.counters.get(ENV_STEPS, 0.0)

    @property
    def episodes(self) -> float:
        return self.counters.get(EPISODES, 0.0)

    @property
    def updates(self) -> float:
        return self.counters.get(GRADIENT_STEPS, 0.0)

    @property
    def samples(self) -> float:
        return self.counters.get(SAMPLES, 0.0)

    @property
    def steps_per_s(self) -> float:
        return self.steps / self.wall_s if self.wall_s > 0 else 0.0

    def share(self, seconds: float) -> float:
        """These seconds as a share of its time."""
        return seconds / self.wall_s if self.wall_s > 0 else 0.0

    @property
    def step_s(self) -> float | None:
        """Time per environment step; None without any."""
        return self.wall_s / self.steps if self.steps > 0 else None

    @property
    def cpu_s(self) -> float:
        return self.gauges.get(schema.PROCESS_CPU_NS, 0.0) / 1e9

    @property
    def cores(self) -> float:
        """Mean number of busy CPU cores."""
        return self.cpu_s / self.wall_s if self.wall_s > 0 else 0.0

    @property
    def memory_mb(self) -> float | None:
        return self._megabytes(schema.RESIDENT)

    @property
    def memory_peak_mb(self) -> float | None:
        return self._megabytes(schema.RESIDENT_PEAK)

    @property
    def gpu_memory_mb(self) -> float | None:
        older = self._megabytes(schema.GPU_MEMORY_PEAK)
        return self._megabytes(schema.GPU_MEMORY) if older is None else older

    @property
    def gpu_busy_s(self) -> float | None:
        busy = self.gauges.get(schema.GPU_BUSY_NS)
        return None if busy is None else busy / 1e9

    @property
    def gpu_busy(self) -> float | None:
        if self.gpu_busy_s is None or self.wall_s <= 0:
            return None
        return min(self.gpu_busy_s / self.wall_s, 1.0)

    def _megabytes(self, gauge: str) -> float | None:
        value = self.gauges.get(gauge)
        return None if value is None else value / 1e6

    def add(self, later: SeriesPoint) -> None:
        """Extend this point by the one that follows."""
        self.end_s = later.end_s
        self.seconds += later.seconds
        _add(self.own, later.own)
        _add(self.total, later.total)
        _add(self.counters, later.counters)
        for name, calls in later.calls.items():
            self.calls[name] = self.calls.get(name, 0) + calls
        for name, inside in later.below.items():
            self.below[name] = self.below.get(name, set()) | inside
        merge_gauges(self.gauges, later.gauges)

    def copy(self) -> SeriesPoint:
        other = SeriesPoint(self.begin_s, self.begin_s, self.part, position=self.position)
        other.add(self)
        return other

    def plus(self, other: SeriesPoint, share: float = 1.0) -> SeriesPoint:
        """The amounts of this point and a share of another's; neither changes."""
        found = SeriesPoint(seconds=self.seconds + share * other.seconds)
        for name in ("own", "total", "counters"):
            amounts = dict(getattr(self, name))
            _add(amounts, getattr(other, name), share)
            setattr(found, name, amounts)
        return found


def _add(into: dict[str, float], other: dict[str, float], share: float = 1.0) -> None:
    for name, amount in other.items():
        into[name] = into.get(name, 0.0) + share * amount


def together(points: Sequence[SeriesPoint]) -> SeriesPoint:
    """Consecutive points as one."""
    whole = points[0].copy()
    for point in points[1:]:
        whole.add(point)
    return whole


# -- from windows --


def own_cost_s(window: Window) -> float:
    """Time that hotloop cost the program outside of regions.

    The sampler's stops, hooks between regions, and recording the device. All of it delays the
    loop but lies in no region, so it is removed from the whole alone.
    """
    names = (schema.SAMPLER_NS, schema.HOOKS_NS, schema.DEVICE_NS)
    return sum(window.gauges.get(name, 0.0) for name in names) / 1e9


def point_of(
    window: Window, cost: RegionCost = NO_COST, part: str = LOOP, evaluations: bool = True
) -> SeriesPoint:
    """A window as a point, the cost of its regions removed.

    Without `evaluations`, what happens inside an evaluation is left out.
    """
    point = SeriesPoint(
        window.begin_ns / 1e9,
        window.end_ns / 1e9,
        part,
        counters=dict(window.counters),
        gauges=dict(window.gauges),
    )
    nodes = {p: d for p, d in window.phases.items() if not is_of_thread(p)}
    totals = add_up([Window(window.first, window.last, 0, 0, nodes)])
    cost_s = own_cost_s(window)
    for path, times in correct(totals, cost).items():
        names = names_of(path)
        name = names[-1] if names else NO_PHASE
        if names:
            cost_s += times.cost_s
        if not evaluations and "evaluate" in names[:-1]:
            continue
        point.own[name] = point.own.get(name, 0.0) + times.self_s
        for above in names[:-1]:
            point.below.setdefault(above, set()).add(name)
        if names and name not in names[:-1]:  # the outermost of its name
            point.total[name] = point.total.get(name, 0.0) + times.total_s
            point.calls[name] = point.calls.get(name, 0) + totals[path].calls
    point.seconds = max(window.seconds - cost_s, 0.0)
    return point


def points(shard: Shard, most: int = MOST_POINTS) -> list[SeriesPoint]:
    """The run of a process in at most about this many points; parts of the run never mix."""
    found = [
        point_of(window, shard.header.cost or NO_COST, part)
        for part, windows in split_timeline(shard.windows).parts
        for window in windows
        if window.seconds > 0
    ]
    if not found:
        return []
    length_s = (found[-1].end_s - found[0].begin_s) / most
    kept: list[SeriesPoint] = []
    for point in found:
        last = kept[-1] if kept else None
        if last is not None and last.part == point.part and last.wall_s < length_s * 0.99:
            last.add(point)
        else:
            kept.append(point)
    return kept


# -- by steps --


@dataclass(frozen=True)
class StepRange:
    """A part of a run between two step counts, with its times (seconds of its clock)."""

    amounts: SeriesPoint
    begin_s: float
    end_s: float


class RunSeries:
    """The loop of a run, window by window; read by how far it had come.

    Between two window ends, counters and times are taken to grow evenly. So a run that went further
    than another can be read up to where the other ended, and a warm-up left out by steps rather
    than by time (a slow run makes fewer steps in its first second than a fast one).
    """

    def __init__(self, analysis: Analysis) -> None:
        cost = analysis.run.header.cost or NO_COST
        self.points = [point_of(window, cost) for window in analysis.loop_windows]
        self._sums = [SeriesPoint()]
        for point in self.points:
            self._sums.append(self._sums[-1].plus(point))

    def reached(self, unit: str) -> float:
        """How many of that unit the loop made."""
        return self._sums[-1].counters.get(unit, 0.0)

    def step_range(self, unit: str, first: float, last: float) -> StepRange:
        """From when `first` of the unit had been made to when `last` had."""
        begin, begin_s = self._at(unit, first)
        end, end_s = self._at(unit, last)
        return StepRange(end.plus(begin, -1.0), begin_s, end_s)

    def between(self, unit: str, first: float, last: float) -> list[SeriesPoint]:
        """The whole windows inside that range."""
        counts = self._counts(unit)
        return [
            point
            for before, after, point in zip(counts, counts[1:], self.points, strict=False)
            if before >= first and after <= last
        ]

    def _counts(self, unit: str) -> list[float]:
        return [amounts.counters.get(unit, 0.0) for amounts in self._sums]

    def _at(self, unit: str, count: float) -> tuple[SeriesPoint, float]:
        if not self.points:
            return SeriesPoint(), 0.0
        if count <= 0:
            return SeriesPoint(), self.points[0].begin_s
        counts = self._counts(unit)
        if count >= counts[-1]:
            return self._sums[-1], self.points[-1].end_s
        index = bisect_left(counts, count)
        share = (count - counts[index - 1]) / (counts[index] - counts[index - 1])
        point = self.points[index - 1]
        return self._sums[index - 1].plus(point, share), point.begin_s + share * point.wall_s


def common_unit(runs: Iterable[RunSeries]) -> str | None:
    """The counter that measures the progress of all these runs; None without any."""
    known = list(runs)
    for unit in UNITS:
        if known and all(run.reached(unit) > 0 for run in known):
            return unit
    return None


def largest_share(points: Sequence[SeriesPoint], counter: str) -> float:
    """The largest part of a counter that fell into one point: how coarsely it is known."""
    amounts = [point.counters.get(counter, 0.0) for point in points]
    whole = sum(amounts)
    return max(amounts) / whole if whole > 0 else 0.0
