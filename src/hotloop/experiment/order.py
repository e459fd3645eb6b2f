"""The order of interleaved runs: balanced against drift, and random against periodic noise.

A fixed ABBA order cancels steady drift, but it is periodic: autocorrelated noise then looks like a
small effect too often (simulated at a correlation of 0.5: 6.5% false alarms instead of 5%). So up
to every check each side goes first equally often, in random order (permuted blocks, Zelen 1974).
Only orders in which consecutive pairs agree as often as they differ are used. The random numbers
are seeded: the same plan gives the same order.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

#: Orders that are drawn for a block; the one with the least rhythm is taken.
DRAWS = 50


def pair_orders(schedule: Sequence[int], seed: int = 0) -> list[bool]:
    """For each pair, whether the second command goes first; balanced up to each check."""
    chance = random.Random(f"hotloop {seed}")
    orders: list[bool] = []
    for upto in schedule:
        size = upto - len(orders)
        second_first = min(max((upto + 1) // 2 - sum(orders), 0), size)
        if upto % 2 and chance.random() < 0.5 and second_first > 0:
            second_first -= 1  # the odd one out goes either way
        block = [True] * second_first + [False] * (size - second_first)
        drawn = []
        for _ in range(DRAWS):
            chance.shuffle(block)
            drawn.append(list(block))
        orders += min(drawn, key=lambda each: abs(_rhythm([*orders, *each]) - 0.5))
    return orders


def _rhythm(orders: Sequence[bool]) -> int:
    """How much more often two pairs that follow each other go the same way than not."""
    return sum(1 if before == after else -1 for before, after in pairwise(orders))


def round_orders(members: int, rounds: int, seed: int = 0) -> list[list[int]]:
    """For each round, the order of its members: a cyclic Latin square in shuffled order.

    Over as many rounds as there are members, each is in each position equally often.
    """
    chance = random.Random(f"hotloop {seed}")
    orders: list[list[int]] = []
    shift: list[int] = []
    for _ in range(rounds):
        if not shift:
            shift = list(range(members))
            chance.shuffle(shift)
            base = list(range(members))
            chance.shuffle(base)
        by = shift.pop()
        orders.append([base[(position + by) % members] for position in range(members)])
    return orders
