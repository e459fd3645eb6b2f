"""Numbers with their units."""

from __future__ import annotations

import pytest

from hotloop.report import units


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
