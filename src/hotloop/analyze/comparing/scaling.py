"""How speed changes as a number grows: throughput, efficiency, the exponent of growth, the knee.

`PowerLaw` works on log scales: if time grows as a power of a number, the logarithms lie on a
line whose slope is the exponent. Trials are made in rounds that hold every setting once, so a round
is to a sweep what a pair is to a comparison.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from hotloop.analyze.comparing.compare import Figures
from hotloop.analyze.comparing.statistics import ALPHA, Interval, Paired, holm_levels, science
from hotloop.analyze.sums import summed

#: If doubling a number gives less than 1.41 times the throughput, little is left to gain; on a
#: log scale that is a slope of a half.
KNEE_SLOPE = 0.5
#: For a run whose time should grow in proportion: doubling the number takes 2.8 times as long.
STEEP_SLOPE = 1.5

#: Slower than predicted by less than this needs no culprit.
NOTABLE = 0.05


@dataclass(frozen=True)
class Trial:
    """One run of a sweep."""

    values: tuple[str, ...]
    round: int
    figures: Figures
    #: Seconds of the whole loop (others' load taken out), and steps made in it.
    loop_s: float
    steps: float

    @property
    def throughput(self) -> float:
        return 1.0 / self.figures.seconds if self.figures.seconds > 0 else 0.0


@dataclass
class Setting:
    """One setting: the median of its trials."""

    values: tuple[str, ...]
    trials: int
    throughput: float
    #: Interval of the throughput; None for one trial.
    low: float | None
    high: float | None
    seconds: float
    loop_s: float
    steps: float
    own: dict[str, float]
    work: dict[str, float]
    memory_mb: float | None
    efficiency: float | None = None

    def share(self, seconds: float) -> float:
        """These seconds as a share of its time per step."""
        return seconds / self.seconds if self.seconds > 0 else 0.0

    def times(self, other: Setting) -> float:
        """How many times the other's throughput."""
        return self.throughput / other.throughput if other.throughput > 0 else 0.0

    def may_equal(self, other: Setting) -> bool:
        """Whether the intervals of both throughputs overlap; unknown intervals do not."""
        if None in (self.low, self.high, other.low, other.high):
            return False
        return bool(self.high >= other.low and other.high >= self.low)  # type: ignore[operator]

    @property
    def spread(self) -> float | None:
        """Half the width of the throughput's interval, as a share of it; None of one trial."""
        if self.low is None or self.high is None:
            return None
        return math.sqrt(self.high / self.low) - 1


@dataclass
class PowerLaw:
    """How something grows with one variable: as its `exponent`-th power."""

    variable: str
    exponent: Interval
    #: Exponents of each phase's own time per step, the largest phase first.
    phases: dict[str, Interval] = field(default_factory=dict)


@dataclass
class Deviation:
    """One value of the variable: expected and actual."""

    value: str
    expected: float
    actual: float
    #: How many times slower than expected, and its interval.
    factor: Interval


@dataclass
class Expectation:
    """A sweep compared with the expectation."""

    kind: str
    variable: str
    #: The unit of `expected` and `actual`: "steps_per_s", "loop_s" or "step_s".
    quantity: str
    rows: list[Deviation]
    #: The phase with the largest part of the excess at the last value, and that part.
    responsible: str | None = None
    part: float = 0.0
    #: With time: the factor as (growth of steps) times (growth of time per step).
    steps_factor: float | None = None
    step_time_factor: float | None = None


def is_numeric(values: Sequence[str]) -> bool:
    """Whether a variable's values are numbers above zero, so that growth has a meaning."""
    return len(values) > 1 and all(_number(value) is not None for value in values)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if number > 0 and math.isfinite(number) else None


def points_of(trials: Sequence[Trial]) -> list[Setting]:
    """The settings with their medians, in the order in which they were given."""
    return [
        _point(values, [trial for trial in trials if trial.values == values])
        for values in dict.fromkeys(trial.values for trial in trials)
    ]


def _point(values: tuple[str, ...], trials: Sequence[Trial]) -> Setting:
    throughput = median(trial.throughput for trial in trials)
    interval = Paired([math.log(t.throughput) for t in trials if t.throughput > 0]).interval(ALPHA)
    known = math.isfinite(interval.half)
    memories = [t.figures.memory_mb for t in trials if t.figures.memory_mb is not None]
    return Setting(
        values,
        len(trials),
        throughput,
        math.exp(interval.low) if known else None,
        math.exp(interval.high) if known else None,
        seconds=median(trial.figures.seconds for trial in trials),
        loop_s=median(trial.loop_s for trial in trials),
        steps=median(trial.steps for trial in trials),
        own=_medians([trial.figures.own for trial in trials]),
        work=_medians([trial.figures.work for trial in trials]),
        memory_mb=max(memories) if memories else None,
    )


def _medians(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: median(row.get(name, 0.0) for row in rows) for name in names}


def add_efficiency(points: Sequence[Setting], index: int) -> None:
    """Throughput per unit of a variable, relative to its smallest value; 1 is perfect."""
    for point in points:
        others = point.values[:index] + point.values[index + 1 :]
        alike = [p for p in points if p.values[:index] + p.values[index + 1 :] == others]
        smallest = min(alike, key=lambda p: float(p.values[index]))
        grown = float(point.values[index]) / float(smallest.values[index])
        point.efficiency = point.throughput / smallest.throughput / grown


def in_proportion(points: Sequence[Setting], figure: Callable[[Setting], float]) -> list[float]:
    """The figure of each point in proportion to the smallest value of the first variable."""
    smallest = min(points, key=lambda point: float(point.values[0]))
    unit = figure(smallest) / float(smallest.values[0])
    return [unit * float(point.values[0]) for point in points]


# -- exponents --


def growth_of(trials: Sequence[Trial], variable: str, index: int) -> PowerLaw:
    """The exponent with which time per step grows with a variable, as a whole and by phase."""
    whole = exponent(trials, index, lambda trial: trial.figures.seconds)
    shares = summed(
        (name, seconds / trial.figures.seconds / len(trials))
        for trial in trials
        for name, seconds in trial.figures.own.items()
    )
    names = [n for n in sorted(shares, key=lambda n: -shares[n]) if shares[n] >= 0.02]
    levels = holm_levels([1.0] * len(names), ALPHA)  # all of them together
    phases = {
        name: exponent(trials, index, lambda t, n=name: t.figures.own.get(n, 0.0), level)  # type: ignore[misc]
        for name, level in zip(names, levels, strict=True)
    }
    return PowerLaw(variable, whole, phases)


def exponent(
    trials: Sequence[Trial],
    index: int,
    figure: Callable[[Trial], float],
    level: float = ALPHA,
) -> Interval:
    """The slope of log(figure) over log(value), by least squares.

    If several variables are varied, only trials that agree in all other variables are compared:
    each such group has its own level (a fixed effect), and all groups share the slope.
    """
    groups: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    for trial in trials:
        if figure(trial) > 0:
            others = trial.values[:index] + trial.values[index + 1 :]
            point = (math.log(float(trial.values[index])), math.log(figure(trial)))
            groups.setdefault(others, []).append(point)
    xs: list[float] = []
    ys: list[float] = []
    for group in groups.values():
        mean_x = math.fsum(x for x, _ in group) / len(group)
        mean_y = math.fsum(y for _, y in group) / len(group)
        xs += [x - mean_x for x, _ in group]
        ys += [y - mean_y for _, y in group]
    spread = math.fsum(x * x for x in xs)
    freedom = len(xs) - len(groups) - 1
    if spread <= 0:
        return Interval(math.nan, -math.inf, math.inf)
    slope = math.fsum(x * y for x, y in zip(xs, ys, strict=True)) / spread
    if freedom < 1:
        return Interval(slope, -math.inf, math.inf)
    rest = math.fsum((y - slope * x) ** 2 for x, y in zip(xs, ys, strict=True))
    _, stats = science()
    half = float(stats.t.isf(level / 2, freedom)) * math.sqrt(rest / freedom / spread)
    return Interval(slope, slope - half, slope + half)


def knee(points: Sequence[Setting], index: int, grows: bool) -> str | None:
    """The value after which more gains little (throughput), or time grows out of proportion.

    `grows`: runs were not cut short, so their time grows with the value. The knee is the first
    value after which every further step is too flat (or too steep); None if there is no such value.
    """
    ordered = sorted(points, key=lambda point: float(point.values[index]))
    if len(ordered) < 3:
        return None
    bad = []
    for before, after in pairwise(ordered):
        run = math.log(float(after.values[index]) / float(before.values[index]))
        if grows:
            bad.append(math.log(after.loop_s / before.loop_s) / run > STEEP_SLOPE)
        else:
            bad.append(math.log(after.throughput / before.throughput) / run < KNEE_SLOPE)
    if not bad[-1]:
        return None
    first = len(bad) - 1
    while first > 0 and bad[first - 1]:
        first -= 1
    return ordered[first].values[index]


# -- expected and actual --


def expectation(
    trials: Sequence[Trial], kind: str, variable: str, index: int, cut: bool
) -> Expectation:
    """Each value of a variable, compared with the prediction from the smallest one."""
    if kind == "linear":
        kind = "linear-throughput" if cut else "linear-time"
    quantity = {"linear-time": "loop_s", "constant": "step_s"}.get(kind, "steps_per_s")
    values = sorted({trial.values[index] for trial in trials}, key=float)
    base = values[0]
    rows = [_deviation(trials, kind, index, base, value) for value in values]
    result = Expectation(kind, variable, quantity, rows)
    _name_responsible(result, trials, index, base, values[-1])
    if kind == "linear-time" and len(values) > 1:
        first, last = (_of(trials, index, value) for value in (base, values[-1]))
        grown = float(values[-1]) / float(base)
        steps = [median(t.steps for t in side) for side in (first, last)]
        seconds = [median(t.figures.seconds for t in side) for side in (first, last)]
        result.steps_factor = steps[1] / steps[0] / grown
        result.step_time_factor = seconds[1] / seconds[0]
    return result


def _of(trials: Sequence[Trial], index: int, value: str) -> list[Trial]:
    return [trial for trial in trials if trial.values[index] == value]


def _deviation(trials: Sequence[Trial], kind: str, index: int, base: str, value: str) -> Deviation:
    grown = float(value) / float(base)
    slower: list[float] = []
    for one in _of(trials, index, base):
        for other in _of(trials, index, value):
            if one.round == other.round and _same_but(one, other, index):
                slower.append(math.log(_slower(kind, one, other, grown)))
    factor = Paired(slower).interval(ALPHA)
    first, last = _of(trials, index, base), _of(trials, index, value)
    if kind == "linear-time":
        expected = median(t.loop_s for t in first) * grown
        actual = median(t.loop_s for t in last)
    elif kind == "constant":
        expected = median(t.figures.seconds for t in first)
        actual = median(t.figures.seconds for t in last)
    else:
        expected = median(t.throughput for t in first) * grown
        actual = median(t.throughput for t in last)
    return Deviation(value, expected, actual, factor)


def _slower(kind: str, base: Trial, other: Trial, grown: float) -> float:
    """How many times slower than expected."""
    if kind == "linear-time":
        return other.loop_s / (base.loop_s * grown)
    per_step = other.figures.seconds / base.figures.seconds
    return per_step if kind == "constant" else per_step * grown


def _same_but(one: Trial, other: Trial, index: int) -> bool:
    return (
        one.values[:index] == other.values[:index]
        and one.values[index + 1 :] == other.values[index + 1 :]
    )


def _name_responsible(
    result: Expectation, trials: Sequence[Trial], index: int, base: str, value: str
) -> None:
    """The phase whose own time exceeds its expectation by most."""
    first, last = _of(trials, index, base), _of(trials, index, value)
    grown = float(value) / float(base)
    excess: dict[str, float] = {}
    for name in {name for trial in last for name in trial.figures.own}:
        before = median(t.figures.own.get(name, 0.0) * _amount(result.kind, t) for t in first)
        after = median(t.figures.own.get(name, 0.0) * _amount(result.kind, t) for t in last)
        scale = {"linear-time": grown, "constant": 1.0}.get(result.kind, 1.0 / grown)
        excess[name] = after - before * scale
    worse = sum(amount for amount in excess.values() if amount > 0)
    largest = max(excess, key=lambda name: excess[name], default=None)
    slower = result.rows[-1].factor.estimate > math.log1p(NOTABLE)
    if slower and largest is not None and excess[largest] > 0:
        result.responsible, result.part = largest, excess[largest] / worse


def _amount(kind: str, trial: Trial) -> float:
    """Own times are per step; the parts of a run's whole time are those times its steps."""
    return trial.steps if kind == "linear-time" else 1.0
