"""Windows of a run made by hand, each as long as its phases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from made_shards import made_shard

from hotloop.analyze.analysis import analyze
from hotloop.capture.reader import Capture
from hotloop.capture.window import PhaseDelta, Window


def window(number: int, steps: float, env_ms: float, learn_ms: float = 0.0, **more: Any) -> Window:
    phases_of = {
        "": PhaseDelta(0, 0, 0),
        "collect": PhaseDelta(1, 0, int(env_ms * 1e6)),
        "collect/env.step": PhaseDelta(1, int(env_ms * 1e6), int(env_ms * 1e6)),
        "learn": PhaseDelta(1, int(learn_ms * 1e6), int(learn_ms * 1e6)),
    }
    begin = more.get("begin", number * 1_000_000_000)
    length = int((env_ms + learn_ms) * 1e6)
    counters = {"env_steps": steps, **more.get("counters", {})}
    made = Window(number, number, begin, begin + length, phases_of, counters)
    made.loop_last_ns = begin + length
    return made


def analysis_of(windows: list[Window], **header: Any) -> Any:
    notes = header.pop("notes", {})
    about = {"role": "main", "started": 1000.0, "host": "here", **header}
    shard = made_shard("main", about, notes, windows)
    return analyze(Capture(Path("run"), [shard]))


def in_a_row(rates: list[tuple[float, float, float]]) -> list[Window]:
    windows, begin = [], 0
    for number, (steps, env_ms, learn_ms) in enumerate(rates):
        windows.append(window(number, steps, env_ms, learn_ms, begin=begin))
        begin = windows[-1].end_ns
    return windows
