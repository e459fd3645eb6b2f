"""Verdicts and ratios in words."""

from __future__ import annotations

import pytest

from hotloop.analyze.comparing.compare import Comparison
from hotloop.analyze.comparing.judgement import FASTER, NOT_COMPARABLE, SAME, UNKNOWN, Judgement
from hotloop.report.results.comparison import (
    headline,
    in_words,
    judgement_document,
    label,
    ratio,
    times,
)


@pytest.mark.parametrize(
    ("judgement", "words"),
    [
        (Judgement(FASTER), "faster"),
        (Judgement(SAME, within=0.012), "no difference (within ±1.2%)"),
        (Judgement(UNKNOWN), "cannot tell"),
        (Judgement(UNKNOWN, width=0.2, more_pairs=1), "cannot tell (±20%; about 1 more pair)"),
        (Judgement(UNKNOWN, width=99.0, more_pairs=30), "cannot tell (about 30 more pairs)"),
        (Judgement(NOT_COMPARABLE, "other\nwork"), "not comparable (other�work)"),
    ],
)
def test_verdicts(judgement: Judgement, words: str) -> None:
    assert in_words(judgement) == words


@pytest.mark.parametrize(
    ("estimate", "low", "high", "text"),
    [
        (None, None, None, ""),
        (1.4234, 1.371, 1.468, "1.42 (1.37 to 1.47)"),
        (1.0123, 0.99, 1.03, "1.012 (0.990 to 1.030)"),  # near 1 a percent must be visible
        (12.34, 11.0, 14.0, "12.3 (11 to 14)"),
        (2.0, 0.1, 9.0, "2.00 (anything)"),
        (2.0, None, None, "2.00"),
    ],
)
def test_ratios(estimate: float | None, low: float | None, high: float | None, text: str) -> None:
    assert ratio(Judgement(FASTER, estimate=estimate, low=low, high=high)) == text


def test_times_and_labels() -> None:
    assert [times(n) for n in (None, 1.234, 12.34, 123.4)] == ["?", "1.23", "12.3", "123"]
    assert [label(name) for name in ("", "learn", "env.step")] == [
        *("(in no phase)", "learn itself", "env.step"),
    ]


def test_a_verdict_as_data() -> None:
    made = judgement_document(Judgement(FASTER, estimate=1.5, low=1.4, high=1.6))
    assert made["ratio"] == {"estimate": 1.5, "low": 1.4, "high": 1.6}
    assert made["in_words"] == "faster"


def test_a_reason_about_the_second_is_about_the_name_that_comes_second() -> None:
    whole = Judgement(NOT_COMPARABLE, "the second makes twice the updates", estimate=3.0)
    made = Comparison(("old", "new"), "env_steps", whole, [], [], 1, "", 0.05)
    assert headline(made) == (
        "old and new: not comparable (the second makes twice the updates). Time per environment "
        "step of the first, divided by the second's: 3.00."
    )
