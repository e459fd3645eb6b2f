"""Values added up by key."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


def summed(pairs: Iterable[tuple[K, float]]) -> dict[K, float]:
    """Key -> the sum of its values, in the order in which keys first appear."""
    totals: dict[K, float] = {}
    for key, value in pairs:
        totals[key] = totals.get(key, 0.0) + value
    return totals
