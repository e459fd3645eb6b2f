"""Baselines of the pytest plugin: the speed to compare a test with, one small file per test.

A baseline is the main shard of a capture without its samples, so that every statistic of a
comparison can be computed from it. It contains no paths or arguments of the machine.
"""

from __future__ import annotations

import re
from pathlib import Path

from hotloop.analyze.analysis import analyze
from hotloop.analyze.model import Analysis
from hotloop.analyze.processes.contention import Contention
from hotloop.capture import lines
from hotloop.capture.growing import GrowingShard
from hotloop.capture.reader import Capture
from hotloop.capture.schema import ContentionNote, Header, Notes
from hotloop.errors import HotloopError

#: Facts about a run that a comparison needs besides its times.
_NOTES = (Notes.altered, Notes.categories, Notes.device, Notes.libraries)
_NOT_KEPT = (Header.hotloop, Header.command, Header.pid)


def path_of(folder: Path, test: str) -> Path:
    """The file of a test, `tests/test_speed.py::test_ppo[cpu]`."""
    file, _, name = test.partition("::")
    stem = re.sub(r"[^A-Za-z0-9_.=-]+", "-", name).strip("-") or "test"
    return folder / Path(file).with_suffix("") / f"{stem}.jsonl"


def store(path: Path, capture: Capture, contention: Contention) -> None:
    """Keep a run as the baseline, and what other programs took from it."""
    shard = capture.main
    header = {key: value for key, value in shard.header.raw.items() if key not in _NOT_KEPT}
    notes = {key: shard.notes.raw[key] for key in _NOTES if key in shard.notes}
    notes[Notes.contention] = {
        ContentionNote.marks: contention.marks,
        ContentionNote.due_to_others: contention.due_to_others,
    }
    rows = [lines.header_line(header), lines.notes_line(notes)]
    for window in shard.windows:
        window.samples = {}
        rows.append(lines.window_line(window))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(rows) + "\n")
    except OSError as error:
        raise HotloopError(f"{path}: cannot be written ({error.strerror})") from None


def load(path: Path) -> tuple[Analysis, Contention] | None:
    """The decoded baseline, and the time that other programs took; None if there is none."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HotloopError(f"{path}: cannot be read ({error.strerror})") from None
    growing = GrowingShard("main")
    for line in content.splitlines():
        growing.take(line)
    shard = growing.shard()
    if shard is None or not shard.windows:
        raise HotloopError(f"{path}: no baseline; recreate it with --hotloop-update-baseline")
    return analyze(Capture(path.parent, [shard])), _contention(shard.notes)


def _contention(notes: Notes) -> Contention:
    kept = notes.contention
    return Contention(kept.marks, kept.due_to_others) if kept else Contention()
