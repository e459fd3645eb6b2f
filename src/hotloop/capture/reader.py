"""Reads a capture back: all that can be trusted, and a count of what could not.

A capture may be of a program that was killed, is still running, or has been damaged. Reading never
raises for that; it raises `HotloopError` only where there is no capture at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hotloop.capture import lines
from hotloop.capture.window import Window
from hotloop.errors import HotloopError

#: No line that hotloop writes comes near this; a damaged file without line ends must not fill
#: the memory.
LONGEST_LINE = 64 * 1024 * 1024

_SHARD = re.compile(r"^(?P<name>.+?)(?:\.tail-(?P<tail>\d+))?\.jsonl$")


@dataclass
class Shard:
    """What one process left."""

    name: str
    header: dict[str, Any]
    notes: dict[str, Any] = field(default_factory=dict)
    windows: list[Window] = field(default_factory=list)
    stacks: dict[int, lines.StackRow] = field(default_factory=dict)
    end: dict[str, Any] | None = None
    damaged: int = 0

    @property
    def role(self) -> str:
        return str(self.header.get("role", self.name))


@dataclass
class Capture:
    """A whole run: the main process's shard first, then the others by name."""

    folder: Path
    shards: list[Shard]

    @property
    def main(self) -> Shard:
        return self.shards[0]

    @property
    def damaged(self) -> int:
        return sum(shard.damaged for shard in self.shards)


def read_capture(folder: str | Path) -> Capture:
    """The capture in that folder, or a `HotloopError` that says why there is none."""
    folder = Path(folder)
    if not folder.exists():
        raise HotloopError(f"{folder}: no such capture")
    if not folder.is_dir():
        raise HotloopError(f"{folder}: not a capture (a capture is a folder that `run` leaves)")
    files: dict[str, list[tuple[int, Path]]] = {}
    for path in sorted(folder.iterdir()):
        match = _SHARD.match(path.name)
        if match and path.is_file():
            # The shard itself sorts after its tails: it says which of their windows it has.
            number = int(match["tail"]) if match["tail"] else -1
            files.setdefault(match["name"], []).append((number, path))
    shards = [
        shard
        for name, parts in files.items()
        if (shard := _read_shard(name, [path for _, path in sorted(parts)])) is not None
    ]
    if not shards:
        raise HotloopError(f"{folder}: not a capture (it holds no shard that can be read)")
    shards.sort(key=lambda shard: (shard.name != "main", shard.name))
    return Capture(folder, shards)


def _read_shard(name: str, paths: list[Path]) -> Shard | None:
    shard = Shard(name, {})
    windows: dict[int, Window] = {}
    for path in paths:
        for line in _lines(path):
            try:
                _take(shard, windows, line)
            except lines.DamagedError:
                shard.damaged += 1
    if not shard.header:
        return None
    shard.windows = _without_repeats(windows)
    return shard


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with open(path, "rb") as file:
            while line := file.readline(LONGEST_LINE):
                if line.strip():
                    yield line
    except OSError as error:
        raise HotloopError(f"{path}: cannot be read ({error.strerror})") from None


def _take(shard: Shard, windows: dict[int, Window], line: bytes) -> None:
    document = lines.parse(line)
    if "w" in document:
        window = lines.read_window(document)
        known = windows.get(window.first)
        # The same window alone and merged with those that follow: the longer one says more.
        if known is None or known.last < window.last:
            windows[window.first] = window
    elif "k" in document:
        shard.stacks.update((row.id, row) for row in lines.read_stacks(document))
    elif "hotloop" in document:
        _check_version(document["hotloop"])
        if not shard.header:
            shard.header = document
    elif isinstance(document.get("n"), dict):
        for key, value in document["n"].items():
            known = shard.notes.get(key)
            # A note is said again as more becomes known of it; its parts add up.
            if isinstance(known, dict) and isinstance(value, dict):
                value = {**known, **value}
            shard.notes[key] = value
    elif isinstance(document.get("e"), dict):
        shard.end = document["e"]
    else:
        raise lines.DamagedError("no kind of line that is known")


def _check_version(schema: Any) -> None:
    name, _, version = str(schema).partition("/")
    if name != lines.SCHEMA or not version.isdigit():
        raise lines.DamagedError("not a header")
    if int(version) > lines.VERSION:
        raise HotloopError(
            f"this capture is of version {int(version)}, from a newer hotloop; "
            f"this one reads up to {lines.VERSION}. Upgrade with: pip install -U hotloop"
        )


def _without_repeats(windows: dict[int, Window]) -> list[Window]:
    """In order, each moment once: a window inside a longer one is already in that."""
    kept: list[Window] = []
    for first in sorted(windows):
        if not kept or first > kept[-1].last:
            kept.append(windows[first])
    return kept
