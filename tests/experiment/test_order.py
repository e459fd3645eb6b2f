"""Who goes first."""

from __future__ import annotations

from itertools import pairwise

import pytest

from hotloop.analyze.comparing.statistics import looks
from hotloop.experiment.order import pair_orders, round_orders


@pytest.mark.parametrize("most", [1, 2, 3, 7, 10, 20, 60])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_each_side_goes_first_equally_often_up_to_every_look(most: int, seed: int) -> None:
    schedule = looks(most)
    orders = pair_orders(schedule, seed)
    assert len(orders) == most
    for upto in schedule:
        assert abs(2 * sum(orders[:upto]) - upto) <= 1


def test_the_order_has_no_rhythm_and_is_the_same_each_time() -> None:
    orders = pair_orders([20])
    assert orders == pair_orders([20])
    assert orders != pair_orders([20], seed=1)
    assert orders not in ([True, False] * 10, [False, True] * 10)


def test_every_setting_stands_in_every_place_equally_often() -> None:
    orders = round_orders(4, 8)
    assert all(sorted(order) == [0, 1, 2, 3] for order in orders)
    for place in range(4):
        assert sorted(order[place] for order in orders) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_neighbours_go_the_same_way_as_often_as_not() -> None:
    for schedule in ([10], [20], looks(20), looks(60)):
        orders = pair_orders(schedule)
        same = sum(a == b for a, b in pairwise(orders))
        assert abs(2 * same - (len(orders) - 1)) <= 2
