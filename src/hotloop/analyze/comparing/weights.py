"""Whether two runs ended with the same weights."""

from __future__ import annotations

import math

from hotloop.capture.schema import Weights

SAME, ROUNDING, DIFFER = "same weights", "same to rounding", "weights differ"
#: Rounding errors grow during training; other updates or data move weights further.
ROUNDING_DISTANCE = 1e-3


def compare_weights(first: Weights | None, second: Weights | None) -> str | None:
    """How two runs' weights compare after equal steps; None if either recorded none."""
    if first is None or second is None or not first.tensors or not second.tensors:
        return None
    if first.digest == second.digest:
        return SAME
    if first.tensors != second.tensors or len(first.sketch) != len(second.sketch):
        return DIFFER
    apart = math.dist(first.sketch, second.sketch) / math.sqrt(len(first.sketch) or 1)
    if not math.isfinite(apart) or not first.norm:
        return DIFFER
    return ROUNDING if apart / first.norm < ROUNDING_DISTANCE else DIFFER


def worst(seen: list[str]) -> str:
    """The result to report for several pairs."""
    return max(seen, key=(SAME, ROUNDING, DIFFER).index, default="")
