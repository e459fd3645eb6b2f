"""One process's shard as its lines arrive: what it says so far, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hotloop.capture import lines
from hotloop.capture.window import Window
from hotloop.errors import HotloopError


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


class GrowingShard:
    """Takes lines and keeps the shard that they make.

    Windows of the shard itself are final, and neighbours may be merged to stay below `most`;
    those of a tail are kept apart until the shard has them.
    """

    def __init__(self, name: str, most: int | None = None) -> None:
        self._shard = Shard(name, {})
        self._final = _Folded(most)
        self._fresh: dict[int, Window] = {}

    def take(self, line: bytes, tail: bool = False) -> None:
        """One more line; one that cannot be understood is counted."""
        try:
            self._take(lines.parse(line), tail)
        except lines.DamagedError:
            self._shard.damaged += 1

    def shard(self) -> Shard | None:
        """All that is known so far; None while there is no header."""
        if not self._shard.header:
            return None
        final = self._final.windows
        covered = final[-1].last if final else -1
        self._fresh = {n: w for n, w in self._fresh.items() if w.last > covered}
        fresh: list[Window] = []
        for first in sorted(self._fresh):
            # A window that is inside the one before it has been counted.
            if first > (fresh[-1].last if fresh else covered):
                fresh.append(self._fresh[first])
        self._shard.windows = [*final, *fresh]
        return self._shard

    def _take(self, document: dict[str, Any], tail: bool) -> None:
        shard = self._shard
        if "w" in document:
            window = lines.read_window(document)
            if tail:
                self._fresh[window.first] = window
            else:
                self._final.add(window)
        elif "k" in document:
            shard.stacks.update((row.id, row) for row in lines.read_stacks(document))
        elif "hotloop" in document:
            _check_version(document["hotloop"])
            shard.header = shard.header or lines.bounded(document)
        elif isinstance(document.get("n"), dict):
            self._take_notes(lines.bounded(document["n"]))
        elif isinstance(document.get("e"), dict):
            shard.end = lines.bounded(document["e"])
        else:
            raise lines.DamagedError("no kind of line that is known")

    def _take_notes(self, notes: dict[str, Any]) -> None:
        for key, value in notes.items():
            known = self._shard.notes.get(key)
            # A note is said again as more becomes known of it; its parts add up.
            if isinstance(known, dict) and isinstance(value, dict):
                value = {**known, **value}
            self._shard.notes[key] = value


class _Folded:
    """Windows in order, each moment once; neighbours merged so that few enough are kept."""

    def __init__(self, most: int | None) -> None:
        self.windows: list[Window] = []
        self._most = most
        #: How many seconds (windows as they closed) one kept window holds.
        self._length = 1

    def add(self, window: Window) -> None:
        if self.windows:
            last = self.windows[-1]
            if window.first <= last.last:
                return  # said before, alone or inside a longer one
            if last.last - last.first + 1 < self._length and _alike(last, window):
                last.add(window)
                return
        self.windows.append(window)
        if self._most is not None and len(self.windows) > 2 * self._most:
            self._fold()

    def _fold(self) -> None:
        first, last = self.windows[0].first, self.windows[-1].last
        self._length = max((last - first + 1) // (self._most or 1), 1)
        windows, self.windows = self.windows, []
        kept, self._most = self._most, None
        for window in windows:
            self.add(window)
        self._most = kept


def _alike(one: Window, other: Window) -> bool:
    """Whether both are of the same part of the run: before, in or after the training loop."""
    return _part(one) == _part(other)


def _part(window: Window) -> int:
    return (window.loop_last_ns > 0) + (window.loop_last_ns > window.begin_ns)


def _check_version(schema: Any) -> None:
    name, _, version = str(schema).partition("/")
    if name != lines.SCHEMA or not version.isdigit():
        raise lines.DamagedError("not a header")
    if int(version) > lines.VERSION:
        raise HotloopError(
            f"this capture is of version {int(version)}, from a newer hotloop; "
            f"this one reads up to {lines.VERSION}. Upgrade with: pip install -U hotloop"
        )
