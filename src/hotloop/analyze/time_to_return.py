"""Time to a return: how soon two settings reach it, from runs with paired seeds.

A run that ended without reaching the target is *censored*: it took at least that long. Times are
compared on the log scale by the difference of their restricted means, the area under the
Kaplan-Meier curve (Kaplan & Meier 1958; Royston & Parmar 2013) up to the time that both sides were
followed. Without censored runs that is the ratio of geometric means.

The two runs of a pair are exchangeable if the settings differ by nothing but a factor in time. So
an interval is found by inverting the permutation test that swaps sides within pairs: a factor is
kept if, with one side scaled by it, the observed difference is not among the rarest. The test is
exact for few seeds and any distribution; with fewer than six pairs it can exclude nothing.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product

#: Probability with which an interval may miss the true factor.
LEVEL = 0.05
#: Up to this many pairs every way to swap sides is tried; otherwise `SWAPS` are drawn.
MOST_EXACT_PAIRS = 10
SWAPS = 1000
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
        """The combined verdict on speed and learning, where both are certain."""
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


def restricted_mean(times: Sequence[Time], until: float) -> float:
    """The mean of min(time, until); times may be logarithms."""
    begin = min(min(time for time, _ in times), until)
    total, share = begin, 1.0
    for at, after in kaplan_meier(times):
        if at >= until:
            break
        total += (at - begin) * share
        begin, share = at, after
    return total + (until - begin) * share


def _followed(times: Sequence[Time]) -> float:
    """Up to when a side is known: without end if its last run reached the target."""
    last, observed = max(times)
    return math.inf if observed else last


def log_difference(first: Sequence[Time], second: Sequence[Time]) -> float:
    """How much larger the first side's restricted mean is; times are logarithms."""
    until = min(_followed(first), _followed(second))
    if until == math.inf:
        until = max(max(first), max(second))[0]
    return restricted_mean(first, until) - restricted_mean(second, until)


# -- intervals --


def factor_of(pairs: Sequence[tuple[Time, Time]], level: float = LEVEL) -> Factor:
    """How many times smaller the second of each pair is; censored times are (limit, False)."""
    logs = _logs(pairs)
    estimate = log_difference([a for a, _ in logs], [b for _, b in logs])
    swaps = _swaps(len(logs))
    if 2.0 / len(swaps) > level and len(logs) <= MOST_EXACT_PAIRS:
        return Factor(math.exp(estimate), 0.0, math.inf)

    def kept(shift: float) -> bool:
        return _p_value(logs, shift, swaps) > level

    most = math.log(LARGEST_FACTOR)
    if not any(is_b for _, (_, is_b) in logs) or not any(is_a for (_, is_a), _ in logs):
        # One side was never reached: only the side of 1 on which the factor lies is known.
        open_end = (0.0, math.inf) if kept(0.0) else _one_sided(estimate)
        return Factor(math.exp(estimate), *open_end)
    low = _end(kept, estimate, -most)
    high = _end(kept, estimate, most)
    return Factor(math.exp(estimate), math.exp(low), math.exp(high))


def _one_sided(estimate: float) -> tuple[float, float]:
    just = math.exp(1e-9)
    return (just, math.inf) if estimate > 0 else (0.0, 1.0 / just)


def _logs(pairs: Sequence[tuple[Time, Time]]) -> list[tuple[Time, Time]]:
    return [((math.log(a), is_a), (math.log(b), is_b)) for (a, is_a), (b, is_b) in pairs]


def _swaps(pairs: int) -> list[tuple[bool, ...]]:
    if pairs <= MOST_EXACT_PAIRS:
        return list(product((False, True), repeat=pairs))
    chance = random.Random(pairs)
    drawn = [tuple(chance.random() < 0.5 for _ in range(pairs)) for _ in range(SWAPS - 1)]
    return [(False,) * pairs, *drawn]


def _p_value(
    logs: Sequence[tuple[Time, Time]], shift: float, swaps: Sequence[tuple[bool, ...]]
) -> float:
    """How often swapped sides differ as much, with the second side scaled by the factor."""
    scaled = [(a, (b + shift, is_b)) for a, (b, is_b) in logs]
    observed = abs(log_difference([a for a, _ in scaled], [b for _, b in scaled]))
    as_far = 0
    for swap in swaps:
        sides = [
            (b, a) if is_swapped else (a, b)
            for (a, b), is_swapped in zip(scaled, swap, strict=True)
        ]
        difference = log_difference([a for a, _ in sides], [b for _, b in sides])
        as_far += abs(difference) >= observed - 1e-12
    return as_far / len(swaps)


def _end(kept: Callable[[float], bool], inside: float, outside: float) -> float:
    """Where factors are no longer kept; `outside` if they all are."""
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


def iqm_interval(values: Sequence[float], level: float = LEVEL) -> tuple[float, float, float]:
    """The interquartile mean and its percentile bootstrap interval."""
    chance = random.Random(0)
    means = sorted(
        interquartile_mean(chance.choices(values, k=len(values))) for _ in range(RESAMPLES)
    )
    cut = int(level / 2 * RESAMPLES)
    return interquartile_mean(values), means[cut], means[-1 - cut]
