"""Data without what JSON lacks."""

from __future__ import annotations

import json
import math

from hotloop.report.plain_data import json_ready


def test_infinities_become_null_at_every_depth() -> None:
    value = {"a": [1.5, math.inf, (math.nan, -math.inf)], 3: {"b": 2}, "c": None, "d": True}
    ready = json_ready(value)
    assert ready == {"a": [1.5, None, [None, None]], "3": {"b": 2}, "c": None, "d": True}
    assert json.loads(json.dumps(ready, allow_nan=False)) == ready
