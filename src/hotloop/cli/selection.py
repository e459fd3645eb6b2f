"""Finds recorded runs, and selects the one that a command was given.

Every command takes a capture's folder, an experiment's folder, the name of either below
`runs/hotloop`, a folder that holds several (then the newest in it), or nothing: then the newest.
The runs that an experiment or `prove` makes for itself are never the newest.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hotloop import units
from hotloop.capture import proofs
from hotloop.capture.schema import Header
from hotloop.cli.liveness import is_running
from hotloop.cli.ownership import SHARD, has_result, is_capture, is_experiment, json_object
from hotloop.errors import HotloopError
from hotloop.experiment.marker import Marker, read_marker
from hotloop.experiment.stored import KINDS
from hotloop.experiment.stored import NAME as RESULT
from hotloop.run.folders import BASE, as_typed
from hotloop.run.messages import notify

#: An experiment keeps its captures at most this many folders below its own.
DEEPEST = 3
#: Bytes at the end of a shard that hold its last line.
TAIL = 4096

RUN, UNFINISHED = "run", "unfinished experiment"
RUNNING, ENDED, KILLED, UNCERTAIN = "running", "ended", "killed", "running or killed"
INTERRUPTED = "interrupted"
#: Runs stopped by a user or a system did not fail.
_STOPPED = {"KeyboardInterrupt": INTERRUPTED, "SIGTERM": "terminated"}


@dataclass(frozen=True)
class RecordedRun:
    """A capture or an experiment on disk, without its figures."""

    folder: Path
    kind: str
    state: str
    command: str
    changed: float
    size: int


def add_capture_argument(parser: argparse.ArgumentParser) -> None:
    """The recording that a command shows."""
    parser.add_argument(
        "capture", nargs="?", help="folder of a capture or an experiment (default: the newest)"
    )


def selected(text: str | None) -> Path:
    """The capture or experiment that was named, or the newest."""
    if text is not None:
        return _named(text)
    found = [each for each in recordings(BASE) if each.kind == RUN or has_result(each.folder)]
    if not found:
        raise HotloopError(_nothing_below())
    return found[0].folder


def selected_capture(text: str | None, proven: bool = False) -> Path:
    """The same for a capture; for an experiment, its newest capture.

    With `proven`, the newest is the newest that `hotloop prove` was run on, if there is one.
    """
    if text is None:
        captures = newest_captures(None)
        if not captures:
            raise HotloopError(_nothing_below())
        with_proof = [each for each in captures if (each / proofs.NAME).is_file()]
        return with_proof[0] if proven and with_proof else captures[0]
    folder = _named(text)
    if has_shards(folder):
        return folder
    captures = list(_captures_in(folder))
    if not captures:
        return folder  # the reader reports what is wrong with it
    notify(f"{text} is an experiment; using its newest capture, {as_typed(captures[0])}")
    return captures[0]


def newest_captures(count: int | None) -> list[Path]:
    """The user's captures that were recorded last, the newest first."""
    return [each.folder for each in recordings(BASE) if each.kind == RUN][:count]


def has_shards(folder: Path) -> bool:
    """Whether a folder holds shards."""
    try:
        return folder.is_dir() and any(folder.glob("*.jsonl"))
    except OSError:
        return False


def recordings(base: Path) -> list[RecordedRun]:
    """Every capture and experiment directly below a folder, the newest first."""
    try:
        folders = [path for path in base.iterdir() if path.is_dir() and not path.is_symlink()]
    except OSError:
        return []
    found = [each for folder in folders if (each := _recording(folder)) is not None]
    return sorted(found, key=lambda each: -each.changed)


def _named(text: str) -> Path:
    path = Path(text)
    if not path.exists():
        if path.parent == Path(".") and (BASE / text).is_dir():
            return BASE / text
        raise HotloopError(f"{text}: no such capture{_meant(path.name)}")
    if path.is_dir() and not has_shards(path) and not is_experiment(path):
        inside = recordings(path)
        if inside:
            newest = inside[0].folder
            notify(f"{text} holds {units.plural(len(inside), 'recording')}; using {newest.name}")
            return newest
    return path


def _meant(name: str) -> str:
    """A hint at the recording that was probably meant, by the beginning of its name."""
    similar = [each.folder.name for each in recordings(BASE) if each.folder.name.startswith(name)]
    return f"; did you mean {similar[0]}?" if name and similar else "; `hotloop list` shows them"


def _nothing_below() -> str:
    return f"no capture below {BASE}; make one with `hotloop run train.py` or name its folder"


def _recording(folder: Path) -> RecordedRun | None:
    try:
        if has_result(folder):
            return _experiment(folder)
        if is_capture(folder):
            return _capture(folder)
        return _unfinished(folder)
    except OSError:
        return None  # removed while it was listed


def _unfinished(folder: Path) -> RecordedRun | None:
    """An experiment without a result: it runs, was ended, or is of a kind that stores none."""
    marker = read_marker(folder)
    newest = next(_captures_in(folder), None)
    if newest is None and marker is None:
        return None
    run = _capture(newest) if newest is not None else None
    kind = UNFINISHED if marker is None or marker.kind in KINDS else marker.kind
    state = _state_of(marker, run.state if run is not None else "")
    changed = run.changed if run is not None else folder.stat().st_mtime
    return RecordedRun(folder, kind, state, "", changed, _size(folder))


def _state_of(marker: Marker | None, last_run: str) -> str:
    """Whether an experiment is running: its process is, or the last of its runs is."""
    if last_run == RUNNING:
        return RUNNING
    running = None if marker is None else is_running(marker.pid, marker.host)
    return {True: RUNNING, False: ENDED, None: UNCERTAIN}[running]


def _experiment(folder: Path) -> RecordedRun:
    path = folder / RESULT
    document = json_object(path.read_bytes())
    result = document.get("result")
    fields = result if isinstance(result, dict) else {}
    commands = fields.get("commands") or [fields.get("command") or fields.get("baseline") or ""]
    return RecordedRun(
        folder,
        str(document.get("kind", "experiment")),
        _finished_state(folder, bool(fields.get("interrupted"))),
        " | ".join(map(str, commands)),
        path.stat().st_mtime,
        _size(folder),
    )


def _finished_state(folder: Path, interrupted: bool) -> str:
    """An investigation that is resumed has a result already."""
    marker = read_marker(folder)
    if marker is not None and _state_of(marker, "") == RUNNING:
        return RUNNING
    return INTERRUPTED if interrupted else ENDED


def _capture(folder: Path) -> RecordedRun:
    path = folder / SHARD
    with open(path, "rb") as file:
        header = json_object(file.readline())
        file.seek(max(path.stat().st_size - TAIL, 0))
        last = json_object(file.read().rstrip(b"\n").rpartition(b"\n")[2])
    command = header.get(Header.command)
    words = command if isinstance(command, list) else []
    return RecordedRun(
        folder,
        RUN,
        _state(header, last.get("e")),
        " ".join(map(str, words)),
        path.stat().st_mtime,
        _size(folder),
    )


def _state(header: dict[str, Any], end: Any) -> str:
    if isinstance(end, dict):
        if end.get("reason") in _STOPPED:
            return _STOPPED[end["reason"]]
        return f"failed ({end.get('reason')})" if end.get("code") else ENDED
    pid, host = header.get(Header.pid), header.get(Header.host)
    running = is_running(pid if isinstance(pid, int) else None, str(host))
    return {True: RUNNING, False: KILLED, None: UNCERTAIN}[running]


def _captures_in(folder: Path) -> Iterator[Path]:
    """Captures at any level that an experiment uses, the newest first."""
    patterns = ["/".join(["*"] * depth + [SHARD]) for depth in range(1, DEEPEST + 1)]
    found = [path for pattern in patterns for path in folder.glob(pattern)]
    shards = [path for path in found if is_capture(path.parent)]
    yield from (path.parent for path in sorted(shards, key=_changed, reverse=True))


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _size(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size
            except OSError:
                pass
    return total
