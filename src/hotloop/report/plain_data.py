"""Converts values to data that JSON can represent."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from hotloop.analyze.comparing.statistics import Interval


def json_ready(value: Any) -> Any:
    """The same without infinities and not-a-numbers, which JSON does not have."""
    if isinstance(value, dict):
        return {str(key): json_ready(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_ready(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def interval_document(
    interval: Interval, scale: Callable[[float], float] = float
) -> dict[str, float | None]:
    """An estimate with its interval; None for an end that is not known."""
    ends = {"estimate": interval.estimate, "low": interval.low, "high": interval.high}
    return {name: scale(end) if math.isfinite(end) else None for name, end in ends.items()}
