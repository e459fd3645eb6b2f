"""Shards that are written with the real writer."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hotloop.capture.window import PhaseDelta, Window
from hotloop.capture.writer import ShardWriter


def window(number: int, phases: int = 3) -> Window:
    begin = number * 1_000_000_000
    return Window(
        number,
        number,
        begin,
        begin + 1_000_000_000,
        {
            f"collect/phase {i}": PhaseDelta(
                10, 5000, 6000, 100, 900, 1, begin, begin + 5, {70: 10}
            )
            for i in range(phases)
        },
        {"env_steps": 4},
        {("collect", 1, 0): [3, 30_000_000]},
        {"resident": 5e8, "resident_peak": 6e8, "sampler_ns": 100},
        begin,
    )


def write(folder: Path, count: int, **options: int) -> ShardWriter:
    writer = ShardWriter(folder, "main", {"role": "main", "cost": None})
    for number in range(count):
        writer.window(window(number, **options))
    return writer


def write_run(
    folder: Path,
    lengths_ns: Iterable[int],
    notes: dict[str, Any] | None = None,
    end: bool = True,
    **header: Any,
) -> Path:
    """A run in windows of these lengths, with a hundred environment steps in each."""
    folder.mkdir(parents=True)
    writer = ShardWriter(folder, "main", {"role": "main", **header})
    writer.notes(notes or {})
    begin = 0
    for number, ns in enumerate(lengths_ns):
        phases = {"env.step": PhaseDelta(100, ns, ns, 1, ns)}
        window = Window(number, number, begin, begin + ns, phases, {"env_steps": 100})
        window.loop_last_ns = begin = begin + ns
        writer.window(window)
    if end:
        writer.end({"reason": "exit", "code": 0})
    else:
        writer.close()
    return folder
