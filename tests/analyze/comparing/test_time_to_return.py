"""Time to a return: restricted means, intervals and verdicts, checked against SciPy."""

from __future__ import annotations

import math
import random

import pytest

from hotloop.analyze.comparing.time_to_return import (
    CANNOT_TELL,
    LATER,
    NOT_REACHED,
    SOONER,
    Attempt,
    Time,
    TimeToReturn,
    factor_of,
    interquartile_mean,
    iqm_interval,
    judge,
    kaplan_meier,
    log_difference,
    median_of,
)

stats = pytest.importorskip("scipy.stats")


def drawn(chance: random.Random, n: int, scale: float = 1.0, limit: float = math.inf) -> list[Time]:
    times = [scale * math.exp(chance.gauss(0.0, 0.4)) for _ in range(n)]
    return [(min(time, limit), time <= limit) for time in times]


@pytest.mark.parametrize("seed", range(5))
def test_kaplan_meier_agrees_with_scipy(seed: int) -> None:
    chance = random.Random(seed)
    times = [(round(t, 1), chance.random() < 0.7) for t, _ in drawn(chance, 30)]
    data = stats.CensoredData(
        uncensored=[t for t, seen in times if seen], right=[t for t, seen in times if not seen]
    )
    expected = stats.ecdf(data).sf
    for at, share in kaplan_meier(times):
        assert share == pytest.approx(float(expected.evaluate(at)))


def test_a_restricted_mean_without_censored_runs_is_the_mean() -> None:
    times = [(1.0, True), (2.0, True), (6.0, True)]
    zeros = [(0.0, True)] * 3
    assert log_difference(times, zeros) == pytest.approx(3.0)
    # Followed to 4 only: there the longer one counts as 4.
    assert log_difference(times, [(0.0, True), (4.0, False)]) == pytest.approx((1 + 2 + 4) / 3 - 2)
    assert log_difference([(1.0, True), (4.0, False)], zeros) == pytest.approx(2.5)


@pytest.mark.parametrize("seed", range(5))
def test_the_difference_of_censored_times_is_that_of_the_areas_under_the_curves(seed: int) -> None:
    chance = random.Random(seed)
    sides = drawn(chance, 9, 1.3, limit=1.2), drawn(chance, 7, 1.0, limit=1.2)
    assert log_difference(*sides) == pytest.approx(area(sides[0], 1.2) - area(sides[1], 1.2))


def area(times: list[Time], until: float) -> float:
    curve = [(at, share) for at, share in kaplan_meier(times) if at < until]
    total, begin, left = 0.0, 0.0, 1.0
    for at, share in [*curve, (until, 0.0)]:
        total, begin, left = total + (at - begin) * left, at, share
    return total


def test_a_large_factor_is_found_and_its_interval_holds_it() -> None:
    chance = random.Random(1)
    pairs = list(zip(drawn(chance, 8, 2.0), drawn(chance, 8, 1.0), strict=True))
    factor = factor_of(pairs)
    assert factor.low < 2.0 < factor.high
    assert factor.low <= factor.estimate <= factor.high
    swapped = factor_of([(b, a) for a, b in pairs])
    assert swapped.estimate == pytest.approx(1 / factor.estimate)
    assert swapped.low == pytest.approx(1 / factor.high, rel=0.05)


def test_few_seeds_exclude_nothing() -> None:
    pairs = [((10.0 + i, True), (1.0 + i / 10, True)) for i in range(3)]
    assert factor_of(pairs).verdict == 0
    assert factor_of([*pairs, ((13.0, True), (1.3, True))]).verdict == 1


def test_a_side_that_never_reaches_it_is_later() -> None:
    pairs = [((5.0 + i / 10, True), (60.0, False)) for i in range(8)]
    factor = factor_of(pairs)
    assert factor.verdict == -1
    assert factor.low == 0.0


def test_what_runs_of_a_pair_share_is_taken_out() -> None:
    """A machine that is up to 30 times slower in some rounds hides no factor."""
    rounds = [1.0, 30.0, 3.0, 10.0, 2.0, 20.0, 5.0, 1.0]
    pairs = [((1.5 * r * (1 + i / 50), True), (r, True)) for i, r in enumerate(rounds)]
    assert factor_of(pairs).verdict == 1


def test_unrelated_runs_are_compared_by_all_of_them() -> None:
    """Which run has which partner is chance, and must not hide a clear difference."""
    first = [1.9, 2.6, 2.1, 3.4, 2.4, 1.7, 2.9, 2.2]
    second = [1.2, 2.0, 1.9, 1.5, 2.3, 1.3, 1.6, 1.8]
    pairs = [
        ((a, True), (b, True)) for a, b in zip(sorted(first), sorted(second)[::-1], strict=True)
    ]
    assert factor_of(pairs).verdict == 1


@pytest.mark.parametrize("limit", [math.inf, 1.5])
def test_false_verdicts_are_rare(limit: float) -> None:
    """Two settings of the same distribution: at most 5%, within what 60 tries can show."""
    chance = random.Random(7)
    wrong = 0
    for _ in range(60):
        first, second = drawn(chance, 6, limit=limit), drawn(chance, 6, limit=limit)
        wrong += factor_of(list(zip(first, second, strict=True))).verdict != 0
    assert wrong <= 6


def test_interquartile_mean_agrees_with_scipy() -> None:
    chance = random.Random(3)
    values = [chance.gauss(100.0, 20.0) for _ in range(11)]
    assert interquartile_mean(values) == pytest.approx(stats.trim_mean(values, 0.25))
    mean, low, high = iqm_interval(values)
    assert low < mean < high


def attempts(seconds: list[float], rate: float, reached: bool = True) -> list[Attempt]:
    return [Attempt(i, s, s * rate, reached, rate, 100.0, 100.0 + i) for i, s in enumerate(seconds)]


def result_of(first: list[Attempt], second: list[Attempt]) -> TimeToReturn:
    result = TimeToReturn(("A", "B"), ("a", "b"), 195.0, "runs", (first, second))
    judge(result)
    return result


def test_faster_and_sooner() -> None:
    times = [10.0 + i / 3 for i in range(8)]
    result = result_of(attempts(times, 100.0), attempts([t / 2 for t in times], 300.0))
    assert result.verdict == SOONER
    assert result.trade == "faster, learns worse"
    assert result.time is not None
    assert result.time.estimate == pytest.approx(2.0)
    assert len(result.returns) == 2


def test_faster_but_later() -> None:
    times = [10.0 + i / 3 for i in range(8)]
    result = result_of(attempts(times, 100.0), attempts([t * 2 for t in times], 300.0))
    assert result.verdict == LATER
    assert result.trade == "faster, learns worse"


def test_nothing_reached_and_nothing_told() -> None:
    never = attempts([10.0] * 8, 100.0, reached=False)
    assert result_of(never, never).verdict == NOT_REACHED
    some = attempts([10.0, 11.0, 9.0], 100.0)
    assert result_of(some, some).verdict == CANNOT_TELL


def test_median_of_censored_times() -> None:
    times = [(1.0, True), (2.0, False), (3.0, True), (4.0, True)]
    assert median_of(times) == (3.0, True)
    assert median_of([(1.0, True), (2.0, False), (2.0, False)]) == (2.0, False)


def test_one_is_excluded_where_runs_are_censored() -> None:
    """Factors far from 1 cannot be compared then; 1 itself can."""
    chance = random.Random(1)
    first, second = drawn(chance, 8, 2.0, limit=1.3), drawn(chance, 8, 1.0, limit=1.3)
    assert {reached for _, reached in first} == {True, False}
    factor = factor_of(list(zip(first, second, strict=True)))
    assert factor.verdict == 1
    assert factor.high == math.inf
