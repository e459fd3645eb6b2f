"""Numbers with their units."""

from __future__ import annotations

import pytest

from hotloop import units


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 s"),
        (12e-9, "12 ns"),
        (0.000999, "999 µs"),
        (0.0009999, "1.00 ms"),
        (0.045678, "45.7 ms"),
        (1.234, "1.23 s"),
        (99.96, "100 s"),
        (200, "3 min 20 s"),
        (7325, "2 h 02 min"),
    ],
)
def test_seconds(value: float, text: str) -> None:
    assert units.seconds(value) == text


def test_other_units() -> None:
    assert units.percent(0.12345) == "12.3%"
    assert units.count(1234567) == "1,234,567"
    assert units.megabytes(1500) == "1.50 GB"
    assert units.rate(0.5) == "0.50"
    assert units.listing(["a", "b", "c"]) == "a, b and c"


def test_one_thing_is_no_plural() -> None:
    assert units.plural(1, "episode") == "1 episode"
    assert units.plural(1234, "episode") == "1,234 episodes"
    assert units.plural(2, "search", "es") == "2 searches"


@pytest.mark.parametrize(
    ("mean", "text"),
    [(1.0, "1 copy"), (2.0, "2 copies"), (2.46, "2.5 copies"), (258.2, "258 copies")],
)
def test_a_mean_has_no_more_digits_than_it_needs(mean: float, text: str) -> None:
    assert units.plural(mean, "copy") == text


def test_whole_numbers_have_no_decimals() -> None:
    assert units.rate(64.0) == "64"
    assert units.value(-200.0) == "-200"
    assert units.amount(2.0) == "2"


def test_something_is_not_nothing() -> None:
    assert units.percent(0.0) == "0.0%"
    assert units.percent(0.0004) == "<0.1%"


def test_a_range_of_speedups() -> None:
    assert units.times_faster(4.99, 15.55) == "5.0 to 16 times faster"
    assert units.times_faster(1.071, 1.072) == "1.07 times faster"
