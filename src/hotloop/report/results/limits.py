"""A limit and its measurement as text: "log 21.7% (19.0% to 24.9%) of the loop, at most 5%"."""

from __future__ import annotations

import math

from hotloop import units
from hotloop.analyze.comparing.limits import SHARE, SPEED, LimitCheck
from hotloop.report.console.terminal import clean
from hotloop.report.results.comparison import times


def limit_text(check: LimitCheck) -> str:
    """One line: the figure, its interval, and the limit."""
    write = units.percent if check.kind == SHARE else times
    what, limit = {
        SHARE: (f"{clean(check.phase)} {{}} of the loop", f"at most {write(check.limit)}"),
        SPEED: ("{} times the baseline's steps per second", f"at least {write(check.limit)}"),
    }.get(
        check.kind,
        (
            f"{clean(check.phase)} {{}} times its time in the baseline",
            f"at most {write(check.limit)}",
        ),
    )
    if check.value is None:
        return f"{what.format('?')}, {limit} ({clean(check.why)})"
    found = write(check.value)
    if check.low is not None and check.high is not None and math.isfinite(check.high):
        found += f" ({write(check.low)} to {write(check.high)})"
    return f"{what.format(found)}, {limit}" + (f" ({clean(check.why)})" if check.why else "")
