"""Stretches a short capture into one of a long run with many workers, as the writer would leave it.

    python benchmarks/stretch.py CAPTURE FOLDER --hours 8 --workers 64

The windows are the real ones of the short run, repeated and merged by the writer's own rule (64
windows of each length, then twice as long; a summary after every 16). So sizes and shapes are those
of a real capture, and only time is made up.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

from hotloop.analyze.processes.training import read_capture
from hotloop.analyze.timeline import split_timeline
from hotloop.capture import lines
from hotloop.capture.reader import Capture, Shard
from hotloop.capture.window import Window, merged, thinned_samples
from hotloop.capture.writer import (
    LONGEST,
    MOST_SAMPLES,
    WINDOWS_PER_LENGTH,
    WINDOWS_PER_SUMMARY,
)

#: Distinct merged windows that are made of each length; the rest repeat them.
VARIANTS = 6


def stretch(capture: Capture, folder: Path, hours: float, workers: int, seed: int = 0) -> None:
    """Write the long run."""
    folder.mkdir(parents=True)
    chance = random.Random(seed)
    main = "\n".join(_body(capture.main, hours, chance))
    _write(folder / "main.jsonl", capture.main.header.raw, main)
    others = [shard for shard in capture.shards[1:] if len(shard.windows) > 2] or [capture.main]
    # Many workers repeat a few: only their names differ.
    sources = (others * VARIANTS)[: min(workers, max(VARIANTS, len(others)))]
    bodies = [(shard.header.raw, "\n".join(_body(shard, hours, chance))) for shard in sources]
    for number in range(1, workers + 1):
        header, body = bodies[number % len(bodies)]
        header = {**header, "role": f"EnvWorker-{number}", "pid": 10_000 + number}
        _write(folder / f"EnvWorker-{number}-{10_000 + number}.jsonl", header, body)


def _write(path: Path, header: dict[str, object], body: str) -> None:
    first = lines.header_line({k: v for k, v in header.items() if k != "hotloop"})
    path.write_text(f"{first}\n{body}\n", encoding="utf-8")


def _body(shard: Shard, hours: float, chance: random.Random) -> Iterator[str]:
    """The lines of a shard after its header."""
    parts = split_timeline(shard.windows)
    end_ns = int(hours * 3600e9)
    yield lines.stacks_line(list(shard.stacks.values()))
    yield lines.notes_line(shard.notes.raw)
    number = 0
    for window in parts.startup:
        yield lines.window_line(window)
        number = window.last + 1
    begin = parts.loop_begin_ns
    length, at_length = 1, 0
    variants: dict[int, list[Window]] = {}
    summarized: list[Window] = []
    while begin < end_ns:
        if length not in variants:
            variants[length] = [_long(parts.loop, length, chance) for _ in range(VARIANTS)]
        window = _at(chance.choice(variants[length]), number, length, begin)
        yield (lines.packed_line if length > 1 else lines.window_line)(window)
        number, begin = window.last + 1, window.end_ns
        summarized.append(window)
        if len(summarized) == WINDOWS_PER_SUMMARY:
            yield _summary(summarized)
            summarized = []
        at_length += 1
        if at_length >= WINDOWS_PER_LENGTH and length < LONGEST:
            length, at_length = length * 2, 0
    yield lines.end_line({"reason": "exit", "code": 0})


def _long(windows: list[Window], length: int, chance: random.Random) -> Window:
    whole = [w for w in windows if w.seconds > 0.5] or windows
    first = chance.randrange(len(whole))
    chosen = [deepcopy(whole[(first + i) % len(whole)]) for i in range(length)]
    window = merged(chosen)
    assert window is not None
    window.samples = thinned_samples(window.samples, MOST_SAMPLES, first)
    return replace(window, begin_ns=0, end_ns=sum(w.end_ns - w.begin_ns for w in chosen))


def _summary(windows: list[Window]) -> str:
    whole = merged(windows)
    assert whole is not None
    whole.samples = thinned_samples(whole.samples, MOST_SAMPLES, whole.first)
    return lines.summary_line(whole)


def _at(window: Window, number: int, length: int, begin_ns: int) -> Window:
    """The same window at another time of day."""
    end = begin_ns + window.end_ns
    phases = {
        path: replace(delta, first_ns=delta.first_ns and begin_ns + 1, last_ns=end)
        for path, delta in window.phases.items()
    }
    return replace(
        window, first=number, last=number + length - 1, begin_ns=begin_ns, end_ns=end,
        phases=phases, loop_last_ns=end,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("capture")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--hours", type=float, default=8.0)
    parser.add_argument("--workers", type=int, default=64)
    options = parser.parse_args()
    stretch(read_capture(options.capture), options.folder, options.hours, options.workers)


if __name__ == "__main__":
    main()
