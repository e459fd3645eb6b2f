"""Windows with the counters of a framework, made by hand."""

from __future__ import annotations

from typing import Any

from analyses import window

from hotloop.capture.window import Window
from hotloop.diagnose.finding import Finding

PLACE = ["/home/me/train.py", 12, "train"]


def loop(counters: dict[str, float] | None = None, gauges: Any = None) -> list[Window]:
    """Ten seconds whose counters sum to these, with gauges that rise to these."""
    return [
        window(
            i,
            {},
            counters={name: amount / 10 for name, amount in (counters or {}).items()},
            gauges={name: value * (i + 1) / 10 for name, value in (gauges or {}).items()},
        )
        for i in range(10)
    ]


def noted(what: str) -> dict[str, Any]:
    return {"places": {what: [PLACE]}}


def check(found: list[Finding], id: str) -> Finding:
    """Everything that a finding must have."""
    (one,) = found
    assert one.id == id
    assert 1 <= one.gain.low < one.gain.high
    assert one.fix
    assert one.before != one.after
    assert one.verify.startswith("hotloop compare")
    return one
