"""How a run changes over time: time per step, steps per episode, memory, buffer length.

A run gets slower for two reasons that must not be confused: its episodes get longer (a healthy
agent survives), or its steps get slower (the code). `split_slowdown` separates the two, and splits
the second by phase.

A trend is a line through windows: Theil and Sen's slope (the median of the slopes of all pairs; H.
Theil 1950, P. K. Sen 1968), which a few odd windows do not move, accepted where Mann and Kendall's
test (H. B. Mann 1945, M. G. Kendall 1975) says that order alone does not explain it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from hotloop.analyze.over_time.series import SeriesPoint, point_of, together
from hotloop.capture import schema
from hotloop.capture.window import Window, merged

#: With fewer points, even a perfect order occurs by chance in one of sixty runs.
LEAST_POINTS = 5
#: Probability of reporting a trend for a run without one.
SURE = 0.02
#: A series has at most this many points: the trend compares all pairs.
MOST_POINTS = 40
#: A window shorter than this holds too few samples to stand alone (the first and the last one).
SHORTEST_S = 0.25


@dataclass(frozen=True)
class Trend:
    """A line through a series; `first` and `last` are its values at both ends."""

    first: float
    last: float
    p: float
    points: int

    @property
    def sure(self) -> bool:
        return self.points >= LEAST_POINTS and self.p <= SURE

    @property
    def ratio(self) -> float:
        """How many times the beginning the end is; 1 if that is unknown."""
        return self.last / self.first if self.first > 0 and self.last > 0 else 1.0

    @property
    def grows(self) -> bool:
        return self.sure and self.last > self.first


@dataclass
class Slowdown:
    """From the first part of a run to its last: how much longer episodes take, and why."""

    #: How many times longer an episode takes, has more steps, and a step takes longer.
    episode: float
    episodes_longer: float
    steps_slower: float
    #: How many times slower even the phase that slowed least became: the machine, not the code.
    everything_slower: float = 1.0
    #: Phase -> seconds that a step takes more of it at the end than in the beginning.
    phases: dict[str, float] = field(default_factory=dict)
    #: Seconds that the whole would have taken at the pace, by episodes, of its first part.
    predicted_s: float = 0.0
    actual_s: float = 0.0


@dataclass
class Trends:
    """Every series of a run's loop."""

    points: list[SeriesPoint]
    #: Points since the first gradient step; all of them if there are none.
    learning: list[SeriesPoint]
    per_step: Trend | None = None
    steps_per_episode: Trend | None = None
    memory: Trend | None = None
    rows_per_update: Trend | None = None
    #: Own time per environment step, by phase.
    phases: dict[str, Trend] = field(default_factory=dict)
    #: Time per call of the outermost phases, by name.
    per_call: dict[str, Trend] = field(default_factory=dict)
    slowdown: Slowdown | None = None


def find_trends(windows: Sequence[Window]) -> Trends:
    """The trends of a training loop from its windows."""
    points = _points(windows)
    begin = next((i for i, point in enumerate(points) if point.updates), 0)
    learning = points[begin:]
    trends = Trends(points, learning)
    trends.per_step = trend_of(learning, lambda p: _ratio(p.wall_s, p.steps))
    trends.steps_per_episode = trend_of(learning, lambda p: _ratio(p.steps, p.episodes))
    trends.memory = trend_of(learning, lambda p: p.gauges.get(schema.RESIDENT))
    trends.rows_per_update = trend_of(learning, lambda p: _ratio(p.samples, p.updates))
    for name in sorted({name for point in learning for name in point.own if name}):
        found = trend_of(learning, lambda p, n=name: _ratio(p.own.get(n, 0.0), p.steps))
        if found is not None:
            trends.phases[name] = found
        found = _per_call(learning, name)
        if found is not None:
            trends.per_call[name] = found
    trends.slowdown = split_slowdown(learning)
    return trends


#: The rest of the loop shows how fast the machine was, if it is at least this share of the time.
LEAST_REST = 0.1
#: But not code between two steps: how much a program does there changes by itself.
_ANY_CODE = "agent"


def _per_call(points: Sequence[SeriesPoint], name: str) -> Trend | None:
    """The trend of a phase's time per call, without general slowdowns.

    Other programs come and go, clocks change: that slows all phases alike, a cause in the program
    only its own. How slow a window was is told by its other phases, or by how long the main thread
    waited for a core. Either is noisy: what one of them makes of a level line is no trend.
    """

    def corrected(pace: dict[float, float]) -> Trend | None:
        def value(point: SeriesPoint) -> float | None:
            each = _ratio(point.total.get(name, 0.0), point.calls.get(name, 0))
            return None if each is None else each * pace.get(point.position, 1.0)

        return trend_of(points, value)

    found = corrected(_pace_of_rest(points, name) or _on_core(points))
    level = corrected(_on_core(points))
    return level if found and level and found.grows and level.ratio < found.ratio else found


def _pace_of_rest(points: Sequence[SeriesPoint], name: str) -> dict[float, float]:
    """Position of a point -> the speed of the other phases in it, 1 being usual.

    Empty where they are too little of the time to tell.
    """
    calls: dict[str, int] = {}
    spent: dict[str, float] = {}
    for point in points:
        for other, seconds in point.own.items():
            if other and point.calls.get(other):
                calls[other] = calls.get(other, 0) + point.calls[other]
                spent[other] = spent.get(other, 0.0) + seconds
    known = _inside(points, name) | {name, _ANY_CODE}
    rest = {other: spent[other] / calls[other] for other in spent if other not in known}
    if sum(spent[other] for other in rest) < LEAST_REST * sum(p.wall_s for p in points):
        return {}
    paces = {}
    for point in points:
        usual = sum(mean * point.calls.get(other, 0) for other, mean in rest.items())
        actual = sum(point.own.get(other, 0.0) for other in rest if point.calls.get(other))
        paces[point.position] = usual / actual if usual > 0 and actual > 0 else 1.0
    return paces


#: Less than this of a point's time on a core, and what its waiting leaves is noise.
LEAST_ON_CORE = 0.05


def _on_core(points: Sequence[SeriesPoint]) -> dict[float, float]:
    """Position of a point -> share of its time in which the main thread did not wait for a core.

    The gauge counts from the start of the process: the first point is taken to be as the second,
    and a last one whose waiting was not read again to be as the one before it.
    """
    shares: dict[float, float] = {}
    share = 1.0
    for before, point in pairwise(points):
        waited = [each.gauges.get(schema.MAIN_DELAY_S) for each in (before, point)]
        if waited[0] is None or waited[1] is None or point.wall_s <= 0:
            return {}
        if waited[1] > waited[0] or point is not points[-1]:
            share = 1 - (waited[1] - waited[0]) / point.wall_s
        shares[point.position] = min(max(share, LEAST_ON_CORE), 1.0)
    if shares:
        shares[points[0].position] = next(iter(shares.values()))
    return shares


def _inside(points: Sequence[SeriesPoint], name: str) -> set[str]:
    """Phases that were seen below this one."""
    return {below for point in points for below in point.below.get(name, ())}


def trend_of(points: Sequence[SeriesPoint], value: object) -> Trend | None:
    """The trend of one figure as the loop advances; None if it is not known."""
    assert callable(value)
    pairs = [(point.position, value(point)) for point in points]
    known = [(at, found) for at, found in pairs if found is not None]
    return trend([at for at, _ in known], [found for _, found in known])


def trend(xs: Sequence[float], ys: Sequence[float]) -> Trend | None:
    """Theil and Sen's line, with the chance of such an order by Mann and Kendall's test."""
    if len(ys) < 3 or xs[-1] <= xs[0]:
        return None
    slopes = [
        (ys[j] - ys[i]) / (xs[j] - xs[i])
        for i in range(len(ys))
        for j in range(i + 1, len(ys))
        if xs[j] > xs[i]
    ]
    slope = median(slopes)
    level = median(y - slope * x for x, y in zip(xs, ys, strict=True))
    # A line through a figure that cannot be negative does not begin below its smallest value.
    low = min(ys)
    return Trend(
        max(level + slope * xs[0], low), max(level + slope * xs[-1], low), mann_kendall(ys), len(ys)
    )


def mann_kendall(ys: Sequence[float]) -> float:
    """Chance that a series without a trend is at least as much in order as this one."""
    n = len(ys)
    score = sum((ys[j] > ys[i]) - (ys[j] < ys[i]) for i in range(n) for j in range(i + 1, n))
    ties: dict[float, int] = {}
    for y in ys:
        ties[y] = ties.get(y, 0) + 1
    variance = n * (n - 1) * (2 * n + 5)
    variance -= sum(t * (t - 1) * (2 * t + 5) for t in ties.values())
    if variance <= 0:
        return 1.0
    z = max(abs(score) - 1, 0) / math.sqrt(variance / 18)
    return math.erfc(z / math.sqrt(2))


#: The first and the last part of a run that are set beside each other: long enough to hold
#: whole episodes, short enough to be its beginning and its end.
PART = 0.25


def split_slowdown(points: Sequence[SeriesPoint]) -> Slowdown | None:
    """Why an episode takes longer at the end: more steps, or slower ones, and in which phase.

    time per episode = steps per episode x time per step, so the factors multiply.
    """
    if len(points) < LEAST_POINTS:
        return None
    size = max(round(len(points) * PART), 1)
    first, last, whole = (together(part) for part in (points[:size], points[-size:], points))
    if not (first.steps and last.steps and first.episodes and last.episodes):
        return None
    longer = (last.steps / last.episodes) / (first.steps / first.episodes)
    slower = (last.wall_s / last.steps) / (first.wall_s / first.steps)
    phases = {
        name: last.own.get(name, 0.0) / last.steps - first.own.get(name, 0.0) / first.steps
        for name in {*first.own, *last.own}
    }
    return Slowdown(
        longer * slower,
        longer,
        slower,
        _everything_slower(first, last),
        dict(sorted(phases.items(), key=lambda item: -item[1])),
        first.wall_s / first.episodes * whole.episodes,
        whole.wall_s,
    )


#: A phase with at least this share of the time at both ends shows how fast the machine was.
LARGE = 0.08


def _everything_slower(first: SeriesPoint, last: SeriesPoint) -> float:
    ratios = [
        (last.own[name] / last.steps) / (first.own[name] / first.steps)
        for name in first.own
        if name
        and first.own[name] >= LARGE * first.wall_s
        and last.own.get(name, 0.0) >= LARGE * last.wall_s
    ]
    return max(min(ratios), 1.0) if len(ratios) >= 2 else 1.0


# -- windows to points --


def _points(windows: Sequence[Window]) -> list[SeriesPoint]:
    groups = _groups([window for window in windows if window.end_ns > window.begin_ns])
    merged_windows = [window for group in groups if (window := merged(group)) is not None]
    points = [point_of(window, evaluations=False) for window in merged_windows]
    done = 0.0
    for point, advance in zip(points, _advances(points), strict=True):
        point.position = done + advance / 2
        done += advance
    return points


def _advances(points: Sequence[SeriesPoint]) -> list[float]:
    """By how much each point advances the run: by its environment steps, where some are known.

    Offline training and environments that nothing recognizes have gradient steps, or only time.
    """
    for unit in ("steps", "updates"):
        advances = [getattr(point, unit) for point in points]
        if sum(advance > 0 for advance in advances) >= LEAST_POINTS:
            return advances
    return [point.wall_s for point in points]


def _groups(windows: Sequence[Window]) -> list[list[Window]]:
    """The windows in at most `MOST_POINTS` groups of about the same length."""
    whole = sum(window.seconds for window in windows)
    least = max(whole / MOST_POINTS, SHORTEST_S)
    groups: list[list[Window]] = []
    length = 0.0
    for window in windows:
        if not groups or length >= least:
            groups.append([])
            length = 0.0
        groups[-1].append(window)
        length += window.seconds
    if len(groups) > 1 and length < least:
        rest = groups.pop()
        groups[-1] += rest
    return groups


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
