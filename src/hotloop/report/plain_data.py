"""Data that JSON can represent."""

from __future__ import annotations

import math
from typing import Any


def json_ready(value: Any) -> Any:
    """The same without infinities and not-a-numbers, which JSON does not have."""
    if isinstance(value, dict):
        return {str(key): json_ready(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_ready(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
