"""Whether two runs ended with the same weights."""

from __future__ import annotations

from hotloop.analyze.comparing.weights import DIFFER, ROUNDING, SAME, compare_weights, worst
from hotloop.capture.schema import Weights


def weights(digest: str, sketch: list[float], tensors: int = 2, norm: float = 10.0) -> Weights:
    return Weights({"tensors": tensors, "digest": digest, "norm": norm, "sketch": sketch})


def test_equal_digests_are_the_same_weights() -> None:
    assert compare_weights(weights("a", [1.0]), weights("a", [1.0])) == SAME


def test_a_small_distance_is_rounding_and_a_large_one_is_not() -> None:
    first = weights("a", [1.0, 2.0, 3.0, 4.0])
    assert compare_weights(first, weights("b", [1.0, 2.0, 3.0, 4.001])) == ROUNDING
    assert compare_weights(first, weights("b", [1.0, 2.0, 3.0, 5.0])) == DIFFER


def test_other_networks_and_broken_numbers_differ() -> None:
    first = weights("a", [1.0])
    assert compare_weights(first, weights("b", [1.0], tensors=3)) == DIFFER
    assert compare_weights(first, weights("b", [1.0, 2.0])) == DIFFER
    assert compare_weights(weights("a", [1.0], norm=0.0), weights("b", [1.0])) == DIFFER


def test_nothing_recorded_is_not_compared() -> None:
    assert compare_weights(None, weights("a", [1.0])) is None
    assert compare_weights(weights("a", [], tensors=0), weights("a", [])) is None


def test_the_worst_of_several_pairs_counts() -> None:
    assert worst([SAME, DIFFER, ROUNDING]) == DIFFER
    assert worst([SAME, ROUNDING]) == ROUNDING
    assert worst([]) == ""
