"""How a gauge or a counter of two consecutive windows becomes one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class MergeRule:
    """How the values of two consecutive windows become one."""

    name: str
    merge: Callable[[float, float], float]
    #: Whether a value describes its window alone, so that the writer starts again with each.
    per_window: bool = False


SUM: Final = MergeRule("sum", lambda earlier, later: earlier + later, per_window=True)
LAST: Final = MergeRule("last", lambda earlier, later: later)
MAX: Final = MergeRule("max", max)
MIN: Final = MergeRule("min", min, per_window=True)
