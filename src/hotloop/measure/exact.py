"""Exact function times: what `--functions exact` (cProfile) leaves in the capture."""

from __future__ import annotations

import pstats
from typing import Any

#: By cumulative time; the .prof file beside the capture has all of them.
MOST_FUNCTIONS = 200


def exact_functions(profile: Any) -> list[dict[str, Any]]:
    """The functions with the most cumulative time, as rows."""
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    rows = [
        {
            "file": file,
            "line": line,
            "function": function,
            "calls": calls,
            "self_s": self_s,
            "total_s": total_s,
        }
        for (file, line, function), (_, calls, self_s, total_s, _) in stats.items()
    ]
    rows.sort(key=lambda row: -row["total_s"])
    return rows[:MOST_FUNCTIONS]
