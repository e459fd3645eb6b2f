"""Who goes first: orders that are balanced against drift and cannot follow a rhythm of the machine.

A fixed ABBA takes out any steady drift, but it has a rhythm of its own: noise whose neighbours
resemble each other then looks like a small effect more often than it should (simulated at a
correlation of 0.5: 6.5% false alarms instead of 5%). So each side goes first equally often up to
every look, and chance decides when (permuted blocks, Zelen 1974). The chance is seeded: the same
plan gives the same order.
"""

from __future__ import annotations

import random
from collections.abc import Sequence


def pair_orders(schedule: Sequence[int], seed: int = 0) -> list[bool]:
    """For each pair, whether the second command goes first; balanced up to each look."""
    chance = random.Random(f"hotloop {seed}")
    orders: list[bool] = []
    for upto in schedule:
        size = upto - len(orders)
        second_first = min(max((upto + 1) // 2 - sum(orders), 0), size)
        if upto % 2 and chance.random() < 0.5 and second_first > 0:
            second_first -= 1  # the odd one out goes either way
        block = [True] * second_first + [False] * (size - second_first)
        chance.shuffle(block)
        orders += block
    return orders


def round_orders(members: int, rounds: int, seed: int = 0) -> list[list[int]]:
    """For each round, the order of its members: a cyclic Latin square in shuffled order.

    Over as many rounds as there are members, each stands in each place equally often.
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
        orders.append([base[(place + by) % members] for place in range(members)])
    return orders
