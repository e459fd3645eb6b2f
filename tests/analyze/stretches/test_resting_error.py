"""The error of shares between stretches, and how much samples count."""

from __future__ import annotations

import random

import pytest

from hotloop.analyze.stretches.resting_error import SharesError, Unit, effective_count


def units(spread: float, count: int = 40) -> list[Unit]:
    """Stretches of which a phase takes 30%, more or less."""
    chance = random.Random(1)
    shares = [0.3 + chance.uniform(-spread, spread) for _ in range(count)]
    return [Unit({"env.step": round(share * 1e8)}, 100_000_000) for share in shares]


def test_equal_stretches_count_more_than_samples() -> None:
    error = SharesError(units(0.001), 1000)
    assert error.weight_of_samples < 0.01
    assert error.of_shares["env.step"] < 0.001


def test_samples_count_more_than_stretches_that_differ() -> None:
    error = SharesError(units(0.3), 10_000)
    assert error.weight_of_samples > 0.9
    assert error.of_shares["env.step"] == pytest.approx((0.3 * 0.7 / 10_000) ** 0.5, rel=0.1)


def test_both_together_are_better_than_either() -> None:
    spread, samples = 0.15, 1000
    alone = SharesError(units(spread), 0).of_shares["env.step"]
    both = SharesError(units(spread), samples).of_shares["env.step"]
    assert both < min(alone, (0.3 * 0.7 / samples) ** 0.5)


def test_samples_that_stand_for_more_time_than_others_are_worth_fewer() -> None:
    assert effective_count([(100, 100 * 10)]) == 100
    assert effective_count([(60, 600), (40, 400)]) == 100
    assert effective_count([(100, 1000), (1, 1000)]) < 5
    assert effective_count([]) == 0


def test_few_stretches_leave_it_to_the_samples_and_few_samples_to_the_stretches() -> None:
    assert SharesError(units(0.1, count=3), 1000).weight_of_samples == 1
    assert SharesError(units(0.1), 10).weight_of_samples == 0
    assert SharesError([], 1000).of_shares == {}
