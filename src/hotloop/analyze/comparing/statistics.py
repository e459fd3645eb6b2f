"""Effect or noise: pure statistics of paired measurements, each method with its source.

Everything here works on *log ratios*: the logarithm of how many times faster the second of a pair
was. A ratio of two times is symmetric on that scale, so that "twice as fast" and "half as fast" are
equally far from "the same", and noise that multiplies (a busy machine slows everything by some
percent) becomes noise that adds.

SciPy and NumPy belong to the extra `hotloop[compare]`; they are imported when first needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from statistics import stdev
from types import ModuleType
from typing import Any

from hotloop.errors import HotloopError

#: Probability of a false alarm in a comparison, over all its looks and all its phases together.
#: hotloop promises 5%; a fifth of that is kept back for what the methods below do not model
#: (neighboring pairs that are not quite independent).
ALPHA = 0.04

#: First check of a comparison that may stop early: fewer pairs say nothing about noise.
FIRST_LOOK = 4
#: How much more there must be before looking again. Looks that are close together see nearly the
#: same data, and each costs some of ALPHA.
LOOK_GROWTH, LOOK_LEAST = 1.4, 3
#: Exponent of the spending function (Kim & DeMets 1987): most of ALPHA is kept for the end, but
#: an early look can still find a large effect.
SPENDING_POWER = 2.0

#: Standard errors between an estimate and the end of its interval, at the level of a last look.
TYPICAL_CRITICAL = 2.3

#: Blocks that a series of windows is cut into. Few and long: a block should hold a whole iteration
#: (rollout and update) more often than not. Schmeiser (1982) finds little gain beyond 10.
BLOCKS = 8

#: Resamples of the block bootstrap; its standard error is then within about 3%.
RESAMPLES = 1000


@dataclass(frozen=True)
class Interval:
    """An estimate on the log scale and its interval."""

    estimate: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half of the width; infinite if nothing is known."""
        return (self.high - self.low) / 2

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0


def science() -> tuple[ModuleType, ModuleType]:
    """(numpy, scipy.stats), or one line that says what to install."""
    try:
        return import_module("numpy"), import_module("scipy.stats")
    except ImportError as error:
        missing = (error.name or "scipy").partition(".")[0]
        raise HotloopError(f"comparing needs {missing}: pip install 'hotloop[compare]'") from None


# -- one sample of log ratios: is its center zero, and what is its interval? --


class Paired:
    """The log ratios of some pairs; an interval and a p-value that agree with each other.

    With enough pairs the method is Wilcoxon's signed-rank test (Wilcoxon 1945) with the Hodges and
    Lehmann estimate (1963): exact for any symmetric noise, 95% as efficient as the t-test where
    noise is normal, and not moved by a run that something else disturbed. Two runs of a pair that
    differ only by noise are exchangeable, so their log ratio *is* symmetric. With few pairs that
    test cannot reach small levels at all, and Student's t-test (1908) is used.

    `strictest` is the smallest level that will be asked for: it decides between the two once, so
    that all answers about the same data come from the same method.
    """

    def __init__(self, log_ratios: Sequence[float], strictest: float = ALPHA) -> None:
        self.values = [value for value in log_ratios if math.isfinite(value)]
        self.n = len(self.values)
        self.uses_ranks = self.n > 0 and 2.0 * 0.5**self.n <= strictest

    @property
    def method(self) -> str:
        return "signed-rank" if self.uses_ranks else "t"

    def interval(self, level: float) -> Interval:
        """The interval that is wrong with a probability of `level`."""
        if self.n == 0:
            return Interval(math.nan, -math.inf, math.inf)
        if self.n == 1:
            return Interval(self.values[0], -math.inf, math.inf)
        return self._rank_interval(level) if self.uses_ranks else self._t_interval(level)

    def p_value(self) -> float:
        """How surprising these log ratios are if there is no difference; two-sided."""
        if self.n < 2:
            return 1.0
        if self.uses_ranks:
            averages = self._walsh_averages()
            below = int((averages <= 0).sum())
            above = int((averages >= 0).sum())
            return min(1.0, 2.0 * signed_rank_cdf(self.n)[min(below, above)])
        center, error = self._mean_and_error()
        if error == 0.0:
            return 1.0 if center == 0.0 else 0.0
        _, stats = science()
        return float(2.0 * stats.t.sf(abs(center) / error, self.n - 1))

    def more_pairs(self, target: float) -> int:
        """About how many more pairs until half the interval is `target`."""
        return more_pairs(self.values, target)

    def _t_interval(self, level: float) -> Interval:
        _, stats = science()
        center, error = self._mean_and_error()
        half = float(stats.t.isf(level / 2.0, self.n - 1)) * error
        return Interval(center, center - half, center + half)

    def _rank_interval(self, level: float) -> Interval:
        averages = self._walsh_averages()
        cut = rank_cut(self.n, level)
        middle = float(averages[len(averages) // 2] + averages[(len(averages) - 1) // 2]) / 2.0
        if cut < 0:  # a level below `strictest`: nothing can be excluded
            return Interval(middle, -math.inf, math.inf)
        return Interval(middle, float(averages[cut]), float(averages[-1 - cut]))

    def _mean_and_error(self) -> tuple[float, float]:
        center = math.fsum(self.values) / self.n
        variance = math.fsum((value - center) ** 2 for value in self.values) / (self.n - 1)
        return center, math.sqrt(variance / self.n)

    def _walsh_averages(self) -> Any:
        numpy, _ = science()
        values = numpy.asarray(self.values)
        rows, columns = numpy.triu_indices(self.n)
        return numpy.sort((values[rows] + values[columns]) / 2.0)


@lru_cache(maxsize=64)
def signed_rank_cdf(n: int) -> Sequence[float]:
    """P(W <= w) of Wilcoxon's statistic of n pairs without a difference, exactly.

    `scipy.stats.wilcoxon` tests data and does not give this distribution, which an interval needs.
    """
    numpy, _ = science()
    ways = numpy.zeros(n * (n + 1) // 2 + 1)
    ways[0] = 1.0
    for rank in range(1, n + 1):
        ways[rank:] = ways[rank:] + ways[:-rank].copy()
        ways /= 2.0  # probabilities, so that many pairs do not overflow
    return [float(p) for p in numpy.cumsum(ways)]


def rank_cut(n: int, level: float) -> int:
    """The largest W at which the two-sided test of that level rejects; -1 if it never does."""
    cut = -1
    for w, p in enumerate(signed_rank_cdf(n)):
        if 2.0 * p > level:
            break
        cut = w
    return cut


# -- looking more than once, and at many things --


def looks(most: int) -> list[int]:
    """Numbers of pairs at which a comparison of at most `most` pairs checks its data."""
    found: list[int] = []
    at = FIRST_LOOK
    while at < most:
        found.append(at)
        at = max(at + LOOK_LEAST, math.ceil(at * LOOK_GROWTH))
    # A look just before the last one would cost more than it could save.
    if found and most < max(found[-1] + LOOK_LEAST, found[-1] * (1 + LOOK_GROWTH) / 2):
        found.pop()
    return [*found, most]


def look_levels(schedule: Sequence[int]) -> list[float]:
    """The level of each look, so that all of them together are wrong with at most `ALPHA`.

    A spending function (Lan & DeMets 1983, the power family of Kim & DeMets 1987) says how much of
    that may be spent up to each look; the increase since the last look is its level. The
    usual next step is the joint distribution of all looks for normal data of known variance. Here
    the levels simply add up (Boole's inequality). That gives slightly wider intervals and holds for
    any data, any number of phases and any reason to stop.
    """
    last = schedule[-1]
    spent = [ALPHA * (at / last) ** SPENDING_POWER for at in schedule]
    return [now - before for now, before in zip(spent, [0.0, *spent], strict=False)]


def holm_levels(p_values: Sequence[float], alpha: float) -> list[float]:
    """The level at which Holm's step-down procedure (1979) judges each of many tests.

    Judged at these levels, at most `alpha` of all families of tests hold a false alarm. The
    smallest p-value is judged at alpha / m; each next one at alpha over what is left, until one
    does not reach its level: that level then holds for all others.
    """
    levels = [0.0] * len(p_values)
    left = len(p_values)
    failed = 0.0
    for index in sorted(range(len(p_values)), key=lambda i: p_values[i]):
        level = failed or alpha / left
        levels[index] = level
        if not failed and p_values[index] > level:
            failed = level
        left -= 1
    return levels


def more_pairs(log_ratios: Sequence[float], target: float) -> int:
    """About how many more pairs until half the interval is `target`.

    A standard error shrinks with the square root of the number of pairs; the spread is that of the
    pairs so far.
    """
    known = [value for value in log_ratios if math.isfinite(value)]
    if len(known) < 2 or target <= 0.0:
        return FIRST_LOOK
    needed = (TYPICAL_CRITICAL * stdev(known) / target) ** 2 + 2
    return max(1, math.ceil(needed - len(known)))


# -- a series of windows --


def block_bootstrap(amounts: Sequence[float], times: Sequence[float]) -> float:
    """Standard error of log(sum of times / sum of amounts) of windows that follow each other.

    Neighbouring windows resemble each other, so whole blocks are drawn instead of single
    windows: the moving-block bootstrap (Künsch 1989), its ends joined (Politis & Romano 1992) so
    that the first and last windows are drawn as often as the others.
    """
    numpy, _ = science()
    n = len(times)
    if n < 2 or sum(amounts) <= 0 or sum(times) <= 0:
        return math.inf
    length = block_length(n)
    # A private NumPy generator: the program's random numbers do not change.
    random = numpy.random.default_rng(0)
    starts = random.integers(0, n, (RESAMPLES, math.ceil(n / length)))
    index = (starts[:, :, None] + numpy.arange(length)) % n
    index = index.reshape(RESAMPLES, -1)[:, :n]
    drawn_times = numpy.asarray(times)[index].sum(axis=1)
    drawn_amounts = numpy.asarray(amounts)[index].sum(axis=1)
    usable = (drawn_times > 0) & (drawn_amounts > 0)
    if usable.sum() < RESAMPLES / 2:
        return math.inf
    return float(numpy.std(numpy.log(drawn_times[usable] / drawn_amounts[usable]), ddof=1))


def block_length(n: int) -> int:
    """Windows in a block, for a series of n."""
    return max(2, n // BLOCKS)


class Independent:
    """The difference of two independent means with standard errors of their own (Welch 1947).

    Each side is (mean, standard error, blocks that it rests on). `extra` is a standard error of the
    difference that the data do not show.
    """

    method = "block bootstrap"

    def __init__(
        self, first: tuple[float, float, int], second: tuple[float, float, int], extra: float = 0.0
    ) -> None:
        self.n = min(first[2], second[2])
        self._estimate = first[0] - second[0]
        own = [first[1] ** 2, second[1] ** 2]
        self._variance = math.inf
        self._freedom = 1.0
        if self.n >= 2 and all(math.isfinite(v) for v in own):
            self._variance = own[0] + own[1] + extra**2
            doubt = sum(v**2 / (s[2] - 1) for v, s in zip(own, (first, second), strict=True))
            self._freedom = min(self._variance**2 / doubt, 1e9) if doubt > 0 else 1e9

    def interval(self, level: float) -> Interval:
        """The interval that is wrong with a probability of `level`."""
        if not math.isfinite(self._variance) or not math.isfinite(self._estimate):
            return Interval(self._estimate, -math.inf, math.inf)
        _, stats = science()
        half = float(stats.t.isf(level / 2.0, self._freedom)) * math.sqrt(self._variance)
        return Interval(self._estimate, self._estimate - half, self._estimate + half)

    def p_value(self) -> float:
        """The two-sided p-value of this difference."""
        if not math.isfinite(self._variance) or not math.isfinite(self._estimate):
            return 1.0
        if self._variance == 0.0:
            return 1.0 if self._estimate == 0.0 else 0.0
        _, stats = science()
        return float(2.0 * stats.t.sf(abs(self._estimate) / self._variance**0.5, self._freedom))

    def more_pairs(self, target: float) -> int | None:
        """None: more windows of the same two runs would not help."""
        return None
