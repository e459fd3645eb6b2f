"""Who goes first: orders that are balanced against drift and cannot follow a rhythm of the machine.

A fixed ABBA takes out any steady drift, but it has a rhythm of its own: noise whose neighbors
resemble each other then looks like a small effect more often than it should (simulated at a
correlation of 0.5: 6.5% false alarms instead of 5%). So each side goes first equally often up to
every check, and chance decides when (permuted blocks, Zelen 1974), among orders in which neighbors
go the same way as often as not. The chance is seeded: the same plan gives the same order.
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

    Over as many rounds as there are members, each stands in each position equally often.
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
