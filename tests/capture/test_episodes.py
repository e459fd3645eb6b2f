"""Returns and lengths of episodes: how they add up, their quantiles, their rows in a capture."""

from __future__ import annotations

import math

import pytest

from hotloop.capture.episodes import (
    EVALUATION,
    RETURN_LOWEST,
    RETURN_STEPS,
    RETURN_ZERO,
    TRAINING,
    EpisodeDelta,
    all_of,
    from_row,
    middle_of,
)


def bucket_of(value: float) -> int:
    """The bucket that the native module puts a return into."""
    if value == 0.0:
        return RETURN_ZERO
    mantissa, exponent = math.frexp(abs(value))
    step = int((mantissa * 2 - 1) * RETURN_STEPS)
    distance = (exponent - RETURN_LOWEST) * RETURN_STEPS + step
    return RETURN_ZERO + round(math.copysign(distance, value))


def ended(*returns: float, length: int = 10) -> EpisodeDelta:
    delta = EpisodeDelta()
    for each in returns:
        delta.add(
            EpisodeDelta(1, 0, each, each * each, each, each, length, length, length, {bucket_of(each): 1})
        )  # fmt: skip
    return delta


def test_sums_extremes_and_lengths() -> None:
    both = ended(-5.0, 20.0, length=10)
    both.add(ended(3.0, length=40))
    assert (both.episodes, both.low, both.high, both.mean) == (3, -5.0, 20.0, 6.0)
    assert (both.length_low, both.length_high, both.mean_length) == (10, 40, 20.0)
    assert both.deviation == pytest.approx(math.sqrt((11**2 + 14**2 + 3**2) / 3))


def test_nothing_that_ended_changes_no_extremes() -> None:
    delta = ended(7.0)
    delta.add(EpisodeDelta(unknown=2))
    assert (delta.low, delta.high, delta.episodes, delta.unknown) == (7.0, 7.0, 1, 2)
    empty = EpisodeDelta()
    assert (empty.mean, empty.mean_length, empty.deviation, empty.quantile(0.5)) == (None,) * 4


@pytest.mark.parametrize("value", [0.0, 1.0, -1.0, 195.5, -0.02, 1e6, -123456.0])
def test_the_middle_of_a_bucket_is_within_three_percent(value: float) -> None:
    assert middle_of(bucket_of(value)) == pytest.approx(value, rel=0.032)


def test_quantiles_stay_between_the_extremes() -> None:
    delta = ended(*map(float, range(-50, 51)))
    assert delta.quantile(0.5) == pytest.approx(0.0, abs=1.0)
    assert delta.quantile(0.9) == pytest.approx(40.0, rel=0.05)
    assert (delta.quantile(0.0), delta.quantile(1.0)) == (pytest.approx(-50, rel=0.04), 50.0)


def test_a_row_is_read_as_it_was_written() -> None:
    delta = ended(1.5, -2.5, 0.0)
    assert from_row(delta.row()) == delta


@pytest.mark.parametrize(
    ("position", "bad"), [(0, -1), (0, 1.5), (1, True), (2, math.nan), (6, "9")]
)
def test_a_damaged_row_is_refused(position: int, bad: object) -> None:
    row = ended(1.0).row()
    row[position] = bad
    with pytest.raises((ValueError, TypeError)):
        from_row(row)


def test_windows_add_up_by_kind() -> None:
    total = all_of([{TRAINING: ended(1.0)}, {TRAINING: ended(3.0), EVALUATION: ended(9.0)}])
    assert (total[TRAINING].mean, total[EVALUATION].mean) == (2.0, 9.0)
