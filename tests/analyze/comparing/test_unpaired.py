"""Two captures without pairs: by their windows, over the steps that both have."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from made_captures import analysis_of_windows, in_a_row, iteration

from hotloop.analyze.comparing.judgement import FASTER, NOT_COMPARABLE, SAME, UNKNOWN
from hotloop.analyze.comparing.unpaired import compare_captures, differences

pytest.importorskip("scipy")


def capture(seconds_a_step: float, seed: int, windows: int = 60, **header: Any) -> Any:
    chance = random.Random(seed)
    rows = []
    for _ in range(windows):
        ms = 1000.0 * seconds_a_step * math.exp(chance.gauss(0, 0.02))
        rows.append((100.0, 100 * ms * 0.7, 100 * ms * 0.3))
    return analysis_of_windows(in_a_row(rows), **header)


def test_captures_that_differ_a_lot() -> None:
    comparison = compare_captures(capture(0.02, 1), capture(0.01, 2))
    assert comparison.whole.verdict == FASTER
    assert comparison.whole.estimate == pytest.approx(2.0, rel=0.05)
    assert not comparison.interleaved


def test_captures_that_differ_by_less_than_runs_do() -> None:
    comparison = compare_captures(capture(0.010, 1), capture(0.0102, 2))
    assert comparison.whole.verdict in (UNKNOWN, SAME)
    assert comparison.whole.more_pairs is None


def test_captures_with_too_few_windows() -> None:
    comparison = compare_captures(capture(0.02, 1, windows=3), capture(0.01, 2))
    assert comparison.whole.verdict == UNKNOWN


def test_captures_without_steps() -> None:
    nothing = analysis_of_windows([iteration(0, 0, 1000)])
    comparison = compare_captures(nothing, capture(0.01, 2))
    assert comparison.whole.verdict == NOT_COMPARABLE


def test_captures_of_unequal_length_are_compared_over_common_steps() -> None:
    comparison = compare_captures(capture(0.01, 1, windows=200), capture(0.01, 2, windows=40))
    assert comparison.whole.estimate == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize(
    ("header", "what", "refuses"),
    [
        ({"notes": {"device": "cuda"}}, "device", True),
        ({"host": "elsewhere"}, "machine", True),
        ({"functions": "exact"}, "sampler settings", True),
        ({"functions": "off"}, "sampler settings", False),
        ({"python": "3.12"}, "Python", False),
        ({"notes": {"libraries": {"PyTorch": {"version": "2.1"}}}}, "PyTorch version", False),
        ({"notes": {"altered": {"skip": {"learn": {}}}}}, "training", True),
        ({"native": False}, "region clock", False),
    ],
)
def test_what_else_differs_is_flagged_or_refused(
    header: dict[str, Any], what: str, refuses: bool
) -> None:
    base: dict[str, Any] = {
        "functions": "samples",
        "python": "3.11",
        "native": True,
        "notes": {"device": "cpu", "libraries": {"PyTorch": {"version": "2.0"}}},
    }
    notes = {**base["notes"], **header.get("notes", {})}
    first, second = capture(0.01, 1, **base), capture(0.01, 2, **{**base, **header, "notes": notes})
    found = {difference.what: difference.refuses for difference in differences(first, second)}
    assert found == {what: refuses}
    comparison = compare_captures(first, second)
    if refuses:
        assert comparison.whole.verdict == NOT_COMPARABLE
        assert what in comparison.whole.why
    else:
        assert any(what in note for note in comparison.notes)


def test_the_number_of_environments_is_flagged() -> None:
    one = analysis_of_windows([iteration(0, 1.0, 1000)])
    many = analysis_of_windows([iteration(0, 256.0, 1000)])
    found = differences(one, many)
    assert [str(difference) for difference in found] == [
        "different number of environments: 1 and 256"
    ]
