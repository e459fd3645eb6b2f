"""Limits in words: the figure, its interval and the limit."""

from __future__ import annotations

import math

import pytest

from hotloop.analyze.comparing.limits import BROKEN, KEPT, SHARE, SPEED, TIME, UNKNOWN, LimitCheck
from hotloop.report.results.limits import limit_text


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (
            LimitCheck(SHARE, "log", BROKEN, 0.05, 0.217, 0.19, 0.249),
            "log 21.7% (19.0% to 24.9%) of the loop, at most 5.0%",
        ),
        (
            LimitCheck(SPEED, "", KEPT, 0.9, 1.5, 1.4, 1.6),
            "1.50 (1.40 to 1.60) times the baseline's steps per second, at least 0.90",
        ),
        (
            LimitCheck(TIME, "env.step", KEPT, 1.2, 1.0, 0.9, math.inf),
            "env.step 1.00 times its time in the baseline, at most 1.20",
        ),
        (
            LimitCheck(TIME, "learn", UNKNOWN, 1.2, why="in neither run"),
            "learn ? times its time in the baseline, at most 1.20 (in neither run)",
        ),
    ],
)
def test_in_words(check: LimitCheck, text: str) -> None:
    assert limit_text(check) == text
