"""Captures made by hand: windows, phases, and one shard around them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from made_shards import made_shard

from hotloop.analyze.analysis import analyze
from hotloop.analyze.model import Analysis
from hotloop.capture.reader import Capture
from hotloop.capture.window import PhaseDelta, Window

S = 1_000_000_000


def delta(calls: int, self_s: float, elapsed_s: float, first: float = 0, last: float = 0) -> Any:
    return PhaseDelta(
        calls,
        round(self_s * S),
        round(elapsed_s * S),
        0,
        0,
        0,
        round(first * S),
        round(last * S),
        {},
    )


def capture(windows: list[Window], header: dict[str, Any] | None = None, **notes: Any) -> Capture:
    shard = made_shard("main", {"role": "main", **(header or {})}, notes, windows)
    return Capture(Path("run"), [shard])


def three_parts() -> list[Window]:
    """Two seconds of start-up, three of loop, then an evaluation."""
    return [
        Window(0, 0, 0, 2 * S, {"": delta(0, 0.5, 0), "import": delta(1, 1.5, 1.5, 0.1)}),
        Window(
            1,
            1,
            2 * S,
            4 * S,
            {"env.step": delta(10, 1.8, 1.8, 2.0, 3.9), "": delta(0, 0.2, 0)},
            loop_last_ns=round(3.9 * S),
        ),
        Window(
            2,
            2,
            4 * S,
            7 * S,
            {
                "env.step": delta(5, 0.9, 0.9, 4.0, 5.0),
                "evaluate": delta(1, 1.5, 1.5, 5.2, 6.7),
                "": delta(0, 0.6, 0),
            },
            {"env_steps": 15},
            loop_last_ns=5 * S,
        ),
    ]


def one_window(phases: dict[str, PhaseDelta], **options: Any) -> Analysis:
    return analyze(capture([Window(0, 0, 0, 10 * S, phases, loop_last_ns=10 * S)], **options))
