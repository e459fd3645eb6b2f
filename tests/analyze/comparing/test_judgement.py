"""From an interval to a verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest

from hotloop.analyze.comparing.judgement import (
    FASTER,
    MOST_MORE_PAIRS,
    NOT_COMPARABLE,
    SAME,
    SLOWER,
    UNKNOWN,
    judge,
    not_comparable,
)
from hotloop.analyze.comparing.statistics import Interval


@dataclass
class Known:
    """Evidence with a fixed interval of the ratio."""

    low: float
    high: float
    n: int = 8
    method: str = "given"
    more: int | None = 12

    def interval(self, level: float) -> Interval:
        low, high = math.log(self.low), math.log(self.high)
        return Interval((low + high) / 2, low, high)

    def p_value(self) -> float:
        return 0.5

    def more_pairs(self, target: float) -> int | None:
        assert target > 0
        return self.more


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (1.1, 1.3, FASTER),
        (0.7, 0.9, SLOWER),
        (0.98, 1.03, SAME),
        (1 / 1.049, 1.049, SAME),
        (0.9, 1.02, UNKNOWN),
    ],
)
def test_the_interval_decides(low: float, high: float, verdict: str) -> None:
    judged = judge(Known(low, high), level=0.04, margin=0.05)
    assert judged.verdict == verdict
    assert (judged.low, judged.high) == (pytest.approx(low), pytest.approx(high))
    assert judged.is_clear == (verdict != UNKNOWN)


def test_no_difference_says_how_large_it_may_be() -> None:
    judged = judge(Known(0.99, 1.03), level=0.04)
    assert judged.within == pytest.approx(0.03)
    assert judged.width is None
    assert judged.more_pairs is None


def test_cannot_tell_says_how_many_more_pairs_within_reason() -> None:
    judged = judge(Known(0.8, 1.25), level=0.04)
    assert judged.more_pairs == 12
    assert judged.width == pytest.approx(0.25)
    assert judge(Known(0.8, 1.25, more=10**6), level=0.04).more_pairs == MOST_MORE_PAIRS
    assert judge(Known(0.8, 1.25, more=None), level=0.04).more_pairs is None


def test_the_inverse_is_a_factor_of_time() -> None:
    inverse = judge(Known(0.5, 0.8), level=0.04).inverse
    assert inverse.verdict == SLOWER
    assert (inverse.low, inverse.high) == (pytest.approx(1.25), pytest.approx(2.0))


def test_what_is_not_comparable_keeps_its_figures() -> None:
    judged = not_comparable("different device", judge(Known(1.1, 1.3), level=0.04))
    assert (judged.verdict, judged.why) == (NOT_COMPARABLE, "different device")
    assert judged.low == pytest.approx(1.1)
