"""Time to a return: how soon two settings reach it, from runs with paired seeds.

A run that ended without reaching the target is *censored*: it took at least that long. Times are
compared on the log scale by the difference of their restricted means, the area under the
Kaplan-Meier curve (Kaplan & Meier 1958; Royston & Parmar 2013) up to the time that both sides were
followed. Without censored runs that is the ratio of geometric means.

If the settings differ by nothing but a factor in time, the two runs of a pair are exchangeable. So
an interval is found by inverting permutation tests: a factor is kept if, with one side scaled by
it, the observed difference is not among the rarest. Two tests are made. One swaps sides within
pairs, which is right whatever the runs of a pair share (a busy machine). The other deals all runs
out anew: with few seeds it excludes more, because runs of one seed and two settings have little in
common. Where what they share makes both slower or both faster (positive correlation), it only
excludes less. Where they slow each other down, as runs side by side that compete for cores, it
excludes too much, and intervals are too narrow: let a pair's runs follow each other. Otherwise, a
factor is excluded if either test does so at a level that makes both together wrong in at most 5%
(`benchmarks/time_to_return.py`). With fewer than four pairs nothing can be excluded.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from hotloop.analyze.comparing.statistics import science

#: Probability with which an interval may miss the true factor.
LEVEL = 0.05
#: The part of it that each of the two tests may use. They nearly always agree; where a simulation
#: is at its worst, both at 0.05 are wrong in 6.4%.
EACH_TEST = 0.8
#: Ways to deal out the runs that are tried; fewer where there are fewer ways to swap.
DEALS = 1000
#: Factors beyond this are not distinguished.
LARGEST_FACTOR = 64.0
#: Halvings of the search for the ends of an interval: to within 1%.
HALVINGS = 9
#: Resamples of the bootstrap of the interquartile mean.
RESAMPLES = 2000

SOONER, LATER, CANNOT_TELL, NOT_REACHED = "sooner", "later", "cannot tell", "not reached"


@dataclass(frozen=True)
class Attempt:
    """One run: how long it took to the target, or how long it tried."""

    seed: int
    seconds: float
    env_steps: float
    reached: bool
    steps_per_s: float
    #: Mean return at the end of the run.
    last: float | None = None
    #: Mean return when every run had made this many steps.
    at_equal_steps: float | None = None


@dataclass(frozen=True)
class Factor:
    """How many times smaller something is in the second setting, with its interval."""

    estimate: float
    low: float
    high: float

    @property
    def verdict(self) -> int:
        """1 if the second is certainly better, -1 if worse, 0 if unclear."""
        return 1 if self.low > 1.0 else -1 if self.high < 1.0 else 0


@dataclass
class TimeToReturn:
    """Two settings that were run until a return was reached."""

    names: tuple[str, str]
    commands: tuple[str, str]
    target: float
    folder: str
    attempts: tuple[list[Attempt], list[Attempt]]
    #: Sooner, fewer steps, more steps per second: above 1 the second setting is better.
    time: Factor | None = None
    steps: Factor | None = None
    speed: Factor | None = None
    #: Interquartile mean of the returns after equal steps, with its interval, per setting.
    returns: list[tuple[float, float, float]] = field(default_factory=list)
    equal_steps: float = 0.0
    notes: list[str] = field(default_factory=list)
    interrupted: bool = False

    @property
    def verdict(self) -> str:
        """About the second setting's time to the target."""
        if not any(each.reached for side in self.attempts for each in side):
            return NOT_REACHED
        decided = self.time.verdict if self.time is not None else 0
        return {1: SOONER, -1: LATER}.get(decided, CANNOT_TELL)

    @property
    def trade(self) -> str:
        """The combined verdict on speed and learning, if both are certain."""
        if self.speed is None or self.steps is None:
            return ""
        words = {
            (1, -1): "faster, learns worse",
            (1, 1): "faster, learns better",
            (-1, 1): "slower, learns better",
            (-1, -1): "slower, learns worse",
        }
        return words.get((self.speed.verdict, self.steps.verdict), "")


def judge(result: TimeToReturn) -> None:
    """Fill in the factors of a result from its attempts."""
    first, second = result.attempts
    pairs = list(zip(first, second, strict=False))
    if not pairs:
        return
    result.time = factor_of([(_time(a), _time(b)) for a, b in pairs])
    result.steps = factor_of([(_steps(a), _steps(b)) for a, b in pairs])
    speeds = [((1.0 / a.steps_per_s, True), (1.0 / b.steps_per_s, True)) for a, b in pairs]
    result.speed = factor_of(speeds)
    for side in result.attempts:
        known = [each.at_equal_steps for each in side if each.at_equal_steps is not None]
        if known:
            result.returns.append(iqm_interval(known))


#: A time, and whether it was observed; else it is at least that.
Time = tuple[float, bool]


def _time(attempt: Attempt) -> Time:
    return attempt.seconds, attempt.reached


def _steps(attempt: Attempt) -> Time:
    return attempt.env_steps, attempt.reached


# -- restricted means --


def kaplan_meier(times: Sequence[Time]) -> list[tuple[float, float]]:
    """(time, share that has not been reached after it), at each observed time."""
    curve: list[tuple[float, float]] = []
    left, share = len(times), 1.0
    ordered = sorted(times)
    index = 0
    while index < len(ordered):
        at = ordered[index][0]
        same = [observed for time, observed in ordered[index:] if time == at]
        if any(same):
            share *= 1.0 - sum(same) / left
            curve.append((at, share))
        left -= len(same)
        index += len(same)
    return curve


def median_of(times: Sequence[Time]) -> Time:
    """When half of the runs had reached the target; (the longest time, False) if fewer did."""
    for at, share in kaplan_meier(times):
        if share <= 0.5:
            return at, True
    return max(times)[0], False


def log_difference(first: Sequence[Time], second: Sequence[Time]) -> float:
    """How much larger the first side's restricted mean is; times are logarithms."""
    numpy = science()[0]
    is_second = numpy.arange(len(first) + len(second)) >= len(first)
    return float(_differences(numpy, [*first, *second], is_second[None])[0])


def _differences(numpy: ModuleType, times: Sequence[Time], is_second: Any) -> Any:
    """The same for many ways to deal out the times: a row of `is_second` for each."""
    # If times are equal, observed ones come before censored ones.
    order = sorted(range(len(times)), key=lambda n: (times[n][0], not times[n][1]))
    at = numpy.array([times[n][0] for n in order])
    seen = numpy.array([times[n][1] for n in order])
    sides = [~is_second[:, order], is_second[:, order]]
    until = numpy.minimum(*(_followed(numpy, at, seen, inside) for inside in sides))
    upto = numpy.minimum(at, numpy.minimum(until, at[-1])[:, None])
    means = [upto[:, 0] + (_shares_left(numpy, seen, inside) * numpy.diff(upto)).sum(axis=1)
             for inside in sides]  # fmt: skip
    return means[0] - means[1]


def _followed(numpy: ModuleType, at: Any, seen: Any, inside: Any) -> Any:
    """Up to when each side is known: without end if its last run reached the target."""
    last = numpy.where(inside, at, -math.inf).max(axis=1)
    reached = (inside & seen & (at == last[:, None])).any(axis=1)
    return numpy.where(reached, math.inf, last)


def _shares_left(numpy: ModuleType, seen: Any, inside: Any) -> Any:
    """The Kaplan-Meier curve after each time but the last."""
    at_risk = numpy.cumsum(inside[:, ::-1], axis=1)[:, ::-1]
    return numpy.cumprod(1.0 - (inside & seen) / numpy.maximum(at_risk, 1), axis=1)[:, :-1]


# -- intervals --


def factor_of(pairs: Sequence[tuple[Time, Time]], level: float = LEVEL) -> Factor:
    """How many times smaller the second of each pair is; censored times are (limit, False)."""
    first, second = _logs([a for a, _ in pairs]), _logs([b for _, b in pairs])
    estimate = log_difference(first, second)
    level *= EACH_TEST
    if 2.0 / math.comb(2 * len(pairs), len(pairs)) > level:
        return Factor(math.exp(estimate), 0.0, math.inf)
    numpy = science()[0]
    tests = [_swapped(numpy, len(pairs)), _dealt(numpy, len(pairs))]

    def kept(shift: float) -> bool:
        times = [*first, *((b + shift, is_b) for b, is_b in second)]
        return all(_p_value(numpy, times, each) > level for each in tests)

    most = math.log(LARGEST_FACTOR)
    if not any(reached for _, reached in second) or not any(reached for _, reached in first):
        # One side was never reached: only the side of 1 on which the factor lies is known.
        open_end = (0.0, math.inf) if kept(0.0) else _one_sided(estimate)
        return Factor(math.exp(estimate), *open_end)
    # Where much is censored, factors far away are kept as well: too little is left to compare. What
    # matters is whether 1 is excluded, and so it is asked first.
    differs = not kept(0.0)
    low = _end(kept, estimate, 0.0 if differs and estimate > 0 else -most)
    high = _end(kept, estimate, 0.0 if differs and estimate < 0 else most)
    return Factor(math.exp(estimate), math.exp(low), math.exp(high))


def _one_sided(estimate: float) -> tuple[float, float]:
    just = math.exp(1e-9)
    return (just, math.inf) if estimate > 0 else (0.0, 1.0 / just)


def _logs(times: Sequence[Time]) -> list[Time]:
    return [(math.log(time), reached) for time, reached in times]


def _swapped(numpy: ModuleType, pairs: int) -> Any:
    """Which runs are the second side's if sides are swapped in some pairs; as observed first."""
    if 2**pairs <= DEALS:
        swap = (numpy.arange(2**pairs)[:, None] >> numpy.arange(pairs)) % 2 == 1
    else:
        swap = numpy.random.default_rng(pairs).random((DEALS, pairs)) < 0.5
        swap[0] = False
    return numpy.concatenate([swap, ~swap], axis=1)


def _dealt(numpy: ModuleType, pairs: int) -> Any:
    """The same if the second side has any half of the runs."""
    chance = numpy.random.default_rng(pairs)
    dealt = chance.permuted(numpy.tile(_swapped(numpy, pairs)[:1], (DEALS, 1)), axis=1)
    dealt[0] = numpy.arange(2 * pairs) >= pairs
    return dealt


def _p_value(numpy: ModuleType, times: Sequence[Time], dealt: Any) -> float:
    """How often permuted runs differ as much as those in the first row."""
    differences = numpy.abs(_differences(numpy, times, dealt))
    return float((differences >= differences[0] - 1e-12).mean())


def _end(kept: Callable[[float], bool], inside: float, outside: float) -> float:
    """The end of the factors that are kept, searched from `inside` to `outside`."""
    if not kept(inside):
        return inside
    if kept(outside):
        return math.copysign(math.inf, outside) if outside else outside
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        if kept(middle):
            inside = middle
        else:
            outside = middle
    return outside


def interquartile_mean(values: Sequence[float]) -> float:
    """The mean of the middle half, as rliable aggregates scores (Agarwal et al. 2021)."""
    cut = len(values) // 4
    middle = sorted(values)[cut : len(values) - cut]
    return math.fsum(middle) / len(middle)


def iqm_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The interquartile mean and its percentile bootstrap interval."""
    chance = random.Random(0)
    means = sorted(
        interquartile_mean(chance.choices(values, k=len(values))) for _ in range(RESAMPLES)
    )
    cut = int(LEVEL / 2 * RESAMPLES)
    return interquartile_mean(values), means[cut], means[-1 - cut]
