"""From an interval to a verdict, one of five."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Protocol

from hotloop.analyze.comparing.defaults import MARGIN
from hotloop.analyze.comparing.statistics import Interval, holm_levels

FASTER = "faster"
SLOWER = "slower"
SAME = "no difference"
UNKNOWN = "cannot tell"
NOT_COMPARABLE = "not comparable"


#: Never suggest more pairs than this.
MOST_MORE_PAIRS = 1000


class Evidence(Protocol):
    """The basis of a verdict: log ratios of pairs, or two independent series."""

    n: int

    @property
    def method(self) -> str: ...

    def interval(self, level: float) -> Interval: ...

    def p_value(self) -> float: ...

    def more_pairs(self, target: float) -> int | None: ...


@dataclass(frozen=True)
class Judgement:
    """The second compared with the first: ratio, interval and verdict."""

    verdict: str
    #: Why it is not comparable, if it is not.
    why: str = ""
    #: Above 1 the second is that many times faster. None if nothing is known.
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    #: The time of each side, as the median of its runs.
    first: float | None = None
    second: float | None = None
    #: With "no difference": the largest difference that there may be. 0.02 is 2%.
    within: float | None = None
    #: With "cannot tell": half the width of the interval, and about how many more pairs it takes.
    width: float | None = None
    more_pairs: int | None = None
    #: How many pairs (or blocks of windows) it rests on, and at what level it was judged.
    n: int = 0
    level: float = 0.0

    @property
    def is_clear(self) -> bool:
        return self.verdict in (FASTER, SLOWER, SAME)

    @property
    def inverse(self) -> Judgement:
        """The same as a factor of time: above 1 the second takes longer."""
        return replace(
            self,
            estimate=_one_over(self.estimate),
            low=_one_over(self.high),
            high=_one_over(self.low),
        )


def _one_over(value: float | None) -> float | None:
    return 1.0 / value if value else None


def not_comparable(why: str, judgement: Judgement | None = None) -> Judgement:
    """A judgement that the two cannot be compared; its figures stay."""
    return replace(judgement or Judgement(NOT_COMPARABLE), verdict=NOT_COMPARABLE, why=why)


def judge(
    evidence: Evidence,
    level: float,
    margin: float = MARGIN,
    sides: tuple[Sequence[float], Sequence[float]] = ((), ()),
) -> Judgement:
    """The verdict on some evidence; `sides` are the figures that are shown beside it."""
    interval = evidence.interval(level)
    first, second = (median(side) if side else None for side in sides)
    if math.isnan(interval.estimate):
        return Judgement(NOT_COMPARABLE, "nothing was measured", first=first, second=second)
    # A difference of x% either way: 1 + x and 1 / (1 + x) are equally far from 1.
    reach = max(abs(interval.low), abs(interval.high))
    edge = math.log1p(margin)
    within = width = more = None
    if interval.excludes_zero:
        verdict = FASTER if interval.low > 0 else SLOWER
    elif reach <= edge:
        verdict, within = SAME, math.expm1(reach)
    else:
        verdict = UNKNOWN
        width = finite(math.expm1(interval.half)) if interval.half < 700 else None
        # It becomes clear when the interval either leaves zero or fits into the margin.
        effect = abs(interval.estimate)
        more = min(evidence.more_pairs(max(effect, edge - effect)) or 0, MOST_MORE_PAIRS) or None
    return Judgement(
        verdict,
        estimate=math.exp(interval.estimate),
        low=finite(math.exp(interval.low)) if interval.low > -700 else None,
        high=finite(math.exp(interval.high)) if interval.high < 700 else None,
        first=first,
        second=second,
        within=within,
        width=width,
        more_pairs=more,
        n=evidence.n,
        level=level,
    )


def judge_family(
    family: Sequence[tuple[Evidence, tuple[Sequence[float], Sequence[float]]]],
    alpha: float,
    margin: float = MARGIN,
) -> list[Judgement]:
    """Verdicts on many things judged together, each at its level by Holm's procedure."""
    levels = holm_levels([evidence.p_value() for evidence, _ in family], alpha)
    return [
        judge(evidence, level, margin, sides)
        for (evidence, sides), level in zip(family, levels, strict=True)
    ]


def finite(value: float) -> float | None:
    """The value; None for numbers that JSON does not have."""
    return value if math.isfinite(value) else None
