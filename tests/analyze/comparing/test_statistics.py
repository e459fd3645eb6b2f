"""The statistics: against SciPy, against each other, and at the edges."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotloop.analyze.comparing.statistics import (
    ALPHA,
    BLOCKS,
    Independent,
    Interval,
    Paired,
    block_bootstrap,
    block_length,
    holm_levels,
    look_levels,
    looks,
    more_pairs,
    rank_cut,
    signed_rank_cdf,
)

stats = pytest.importorskip("scipy.stats")

FEW = 1e-9  # a level that only the t-test can reach


def normal(n: int, mean: float = 0.0, sd: float = 0.1, seed: int = 1) -> list[float]:
    chance = random.Random(seed)
    return [chance.gauss(mean, sd) for _ in range(n)]


@pytest.mark.parametrize("n", [6, 9, 14, 25])
def test_signed_rank_p_value_is_scipys(n: int) -> None:
    values = normal(n, 0.05)
    paired = Paired(values)
    assert paired.method == "signed-rank"
    assert paired.p_value() == pytest.approx(stats.wilcoxon(values, method="exact").pvalue)


@pytest.mark.parametrize("n", [2, 5, 30])
def test_t_interval_and_p_value_are_scipys(n: int) -> None:
    values = normal(n, 0.05)
    paired = Paired(values, FEW)
    assert paired.method == "t"
    result = stats.ttest_1samp(values, 0.0)
    low, high = result.confidence_interval(0.98)
    assert paired.p_value() == pytest.approx(result.pvalue)
    interval = paired.interval(0.02)
    assert (interval.low, interval.high) == pytest.approx((low, high))


def test_signed_rank_distribution_adds_up() -> None:
    assert signed_rank_cdf(3) == pytest.approx([1 / 8, 2 / 8, 3 / 8, 5 / 8, 6 / 8, 7 / 8, 1.0])
    assert signed_rank_cdf(200)[-1] == pytest.approx(1.0)


def test_rank_cut_is_the_textbook_table() -> None:
    # Critical values of the two-sided test at 5%, as every table of it has them.
    assert [rank_cut(n, 0.05) for n in (5, 6, 7, 8, 10, 15, 20)] == [-1, 0, 2, 3, 8, 25, 52]


@given(
    st.lists(st.floats(-1, 1), min_size=2, max_size=16),
    st.sampled_from([0.2, 0.05, 0.01]),
    st.booleans(),
)
def test_interval_and_p_value_agree(values: list[float], level: float, ranks: bool) -> None:
    paired = Paired(values, 1.0 if ranks else FEW)
    interval = paired.interval(level)
    p = paired.p_value()
    if abs(p - level) > 1e-6:  # at the very edge rounding decides
        assert interval.excludes_zero == (p <= level)
    assert interval.low <= interval.estimate <= interval.high


def test_one_pair_says_nothing_about_noise() -> None:
    paired = Paired([0.7])
    assert paired.interval(0.05) == Interval(0.7, -math.inf, math.inf)
    assert paired.p_value() == 1.0


def test_no_pair_at_all() -> None:
    assert math.isnan(Paired([]).interval(0.05).estimate)
    assert Paired([]).p_value() == 1.0


def test_no_spread() -> None:
    assert Paired([0.0] * 4).interval(0.05) == Interval(0.0, 0.0, 0.0)
    assert Paired([0.0] * 4).p_value() == 1.0
    assert Paired([0.3] * 4, FEW).p_value() == 0.0
    assert Paired([0.3] * 10).interval(0.05).excludes_zero


def test_what_is_no_number_is_left_out() -> None:
    assert Paired([0.1, math.nan, math.inf, 0.2]).values == [0.1, 0.2]


def test_a_diverging_run_does_not_move_the_verdict() -> None:
    calm = normal(12, 0.2, 0.02)
    wild = [*calm[:-1], -5.0]
    interval = Paired(wild).interval(ALPHA)
    assert interval.low > 0.1
    assert abs(interval.estimate - Paired(calm).interval(ALPHA).estimate) < 0.02


def test_looks_are_few_and_end_at_the_last_pair() -> None:
    assert looks(20) == [4, 7, 10, 14, 20]
    assert looks(60)[-2:] == [40, 60]
    assert [looks(n) for n in (1, 4, 5)] == [[1], [4], [5]]


@pytest.mark.parametrize("most", [1, 4, 7, 20, 60, 500])
def test_levels_of_all_looks_add_up_to_alpha(most: int) -> None:
    levels = look_levels(looks(most))
    assert sum(levels) == pytest.approx(ALPHA)
    assert all(level > 0 for level in levels)


def test_holm_by_hand() -> None:
    # 0.001 <= 0.04/4 and 0.004 <= 0.04/3 hold; 0.2 > 0.04/2 does not, and ends it.
    levels = holm_levels([0.001, 0.2, 0.004, 0.5], 0.04)
    assert levels == pytest.approx([0.01, 0.02, 0.04 / 3, 0.02])
    assert holm_levels([], 0.04) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_rejects_less_than_bonferroni(p_values: list[float]) -> None:
    levels = holm_levels(p_values, 0.05)
    assert all(level >= 0.05 / len(p_values) for level in levels)
    assert all(level <= 0.05 for level in levels)


def test_more_pairs_shrink_with_the_square_root() -> None:
    values = normal(10, 0.0, 0.1)
    assert more_pairs(values, 0.01) > 3 * more_pairs(values, 0.02)
    assert more_pairs(values, 10.0) == 1
    assert more_pairs([0.1], 0.02) > 0


def test_block_bootstrap_sees_that_neighbours_resemble_each_other() -> None:
    chance = random.Random(3)
    value, series = 0.0, []
    for _ in range(400):
        value = 0.9 * value + chance.gauss(0, 0.02)
        series.append(math.exp(value))
    shuffled = list(series)
    chance.shuffle(shuffled)
    ones = [1.0] * len(series)
    assert block_bootstrap(ones, series) > 2 * block_bootstrap(ones, shuffled)


def test_block_bootstrap_of_independent_windows_is_the_plain_standard_error() -> None:
    times = [1.0 + x for x in normal(400, 0.0, 0.05)]
    error = block_bootstrap([1.0] * 400, times)
    assert error == pytest.approx(0.05 / math.sqrt(400), rel=0.25)


def test_block_bootstrap_without_anything_to_draw_from() -> None:
    assert block_bootstrap([1.0], [1.0]) == math.inf
    assert block_bootstrap([0.0, 0.0], [1.0, 1.0]) == math.inf
    assert block_bootstrap([1.0] * 5, [0.0] * 5) == math.inf


def test_blocks_are_few_and_long() -> None:
    assert block_length(400) == 400 // BLOCKS
    assert block_length(3) == 2


def test_independent_is_welch() -> None:
    a, b = normal(12, 0.3), normal(9, 0.0, 0.2, seed=2)
    sides = []
    for side in (a, b):
        mean = sum(side) / len(side)
        error = math.sqrt(sum((x - mean) ** 2 for x in side) / (len(side) - 1) / len(side))
        sides.append((mean, error, len(side)))
    result = stats.ttest_ind(a, b, equal_var=False)
    independent = Independent(sides[0], sides[1])
    assert independent.p_value() == pytest.approx(result.pvalue)
    low, high = result.confidence_interval(0.95)
    interval = independent.interval(0.05)
    assert (interval.low, interval.high) == pytest.approx((low, high))


def test_independent_with_an_allowance_is_wider_and_surer_of_its_width() -> None:
    sides = (0.1, 0.01, 8), (0.0, 0.01, 8)
    plain, wide = Independent(*sides), Independent(*sides, 0.1)
    assert wide.interval(0.05).half > 3 * plain.interval(0.05).half
    assert wide.p_value() > plain.p_value()


def test_independent_of_too_little() -> None:
    nothing = Independent((0.1, math.inf, 0), (0.0, 0.1, 8))
    assert nothing.interval(0.05).half == math.inf
    assert nothing.p_value() == 1.0
    exact = Independent((0.1, 0.0, 8), (0.0, 0.0, 8))
    assert exact.p_value() == 0.0
    assert exact.interval(0.05) == Interval(0.1, 0.1, 0.1)
