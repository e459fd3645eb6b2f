"""Sums by key keep the order of their keys."""

from hotloop.analyze.sums import summed


def test_values_of_a_key_are_added() -> None:
    totals = summed([("b", 1.0), ("a", 2.0), ("b", 0.5)])
    assert list(totals.items()) == [("b", 1.5), ("a", 2.0)]
