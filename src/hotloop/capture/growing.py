"""One process's shard as its lines arrive, in bounded memory."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from hotloop.capture import lines, schema
from hotloop.capture.records import Damage, merge_raw
from hotloop.capture.schema import End, Header, Notes
from hotloop.capture.window import Window, same_part
from hotloop.errors import HotloopError

#: Windows that are kept for their summary; a capture of an older hotloop has none.
MOST_UNDECIDED = 64


@dataclass
class Shard:
    """The recording of one process."""

    name: str
    header: Header = field(default_factory=Header)
    notes: Notes = field(default_factory=Notes)
    windows: list[Window] = field(default_factory=list)
    stacks: dict[int, lines.StackRow] = field(default_factory=dict)
    end: End | None = None
    #: Standard error of a node's time, in seconds, where calls were measured in stretches.
    errors_s: dict[str, float] = field(default_factory=dict)
    #: Time in which hooks rested, in seconds.
    rested_s: float = 0.0
    #: Lines that could not be read.
    damaged: int = 0
    #: Values inside windows that were dropped.
    damaged_in_windows: int = 0

    @property
    def role(self) -> str:
        return self.header.role or self.name

    @property
    def damaged_values(self) -> int:
        """Number of values dropped while recording or reading."""
        recorded = sum(window.counters.get(schema.DAMAGED_VALUES, 0) for window in self.windows)
        return (
            int(recorded)
            + self.damaged_in_windows
            + self.header.damaged
            + self.notes.damaged
            + (self.end.damaged if self.end else 0)
        )


class GrowingShard:
    """Builds a shard from its lines.

    Windows of the shard itself are final, and neighbors may be merged to stay below `most`;
    those of a tail are kept apart until the shard has them. A `coarse` reader decodes summaries
    instead of the windows that they cover.
    """

    def __init__(self, name: str, most: int | None = None, coarse: bool = False) -> None:
        self._shard = Shard(name)
        self._has_header = False
        self._notes: dict[str, Any] = {}
        self._notes_changed = False
        self._damage = Damage()
        self._final = _Folded(most)
        self._fresh: dict[int, Window] = {}
        self._coarse = coarse
        #: Lines of windows that a summary may still cover, by the number of their last window.
        self._undecided: deque[tuple[int, bytes]] = deque()

    def take(self, line: bytes, tail: bool = False) -> None:
        """Add a line; one that cannot be read is counted."""
        numbers = lines.numbers_of(line)
        if numbers is None or tail:
            self._read(line, tail)
        elif numbers.is_summary:
            self._take_summary(line, numbers)
        elif self._coarse:
            self._undecided.append((numbers.last, line))
            if len(self._undecided) > MOST_UNDECIDED:
                self._read(self._undecided.popleft()[1])
        else:
            self._read(line)

    def _take_summary(self, line: bytes, numbers: lines.Numbers) -> None:
        """Use a summary unless some of its windows have been read: then all of them are."""
        if not self._coarse or numbers.first <= self._covered():
            return
        while self._undecided and self._undecided[0][0] < numbers.first:
            self._read(self._undecided.popleft()[1])
        if self._read(line):
            self._undecided = deque(each for each in self._undecided if each[0] > numbers.last)

    def _covered(self) -> int:
        """Number of the last window that the shard itself holds, as far as it was decoded."""
        return self._final.windows[-1].last if self._final.windows else -1

    def _read(self, line: bytes, tail: bool = False) -> bool:
        try:
            self._take(lines.parse(line), tail)
        except lines.DamagedError:
            self._shard.damaged += 1
            return False
        return True

    def shard(self) -> Shard | None:
        """The shard so far; None while there is no header."""
        if not self._has_header:
            return None
        if self._notes_changed:
            self._shard.notes, self._notes_changed = Notes(self._notes), False
        while self._undecided:
            self._read(self._undecided.popleft()[1])
        self._shard.damaged_in_windows = self._damage.values
        final, covered = self._final.windows, self._covered()
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
        if "w" in document or "m" in document:
            window = lines.read_window(document, self._damage)
            if tail:
                self._fresh[window.first] = window
            else:
                self._final.add(window)
        elif "k" in document:
            shard.stacks.update((row.id, row) for row in lines.read_stacks(document))
        elif "hotloop" in document:
            _check_version(document["hotloop"])
            if not self._has_header:
                shard.header, self._has_header = Header(document), True
        elif type(document.get("n")) is dict:
            self._damage.values += merge_raw(Notes, self._notes, document["n"])
            self._notes_changed = True
        elif type(document.get("e")) is dict:
            shard.end = End(document["e"])
        else:
            raise lines.DamagedError("no known kind of line")


class _Folded:
    """Windows in order, each moment once; neighbors merged so that few enough are kept."""

    def __init__(self, most: int | None) -> None:
        self.windows: list[Window] = []
        self._most = most
        #: How many seconds (windows as they closed) one kept window holds.
        self._length = 1

    def add(self, window: Window) -> None:
        if self.windows:
            last = self.windows[-1]
            if window.first <= last.last:
                return  # already counted, alone or inside a longer one
            if last.last - last.first + 1 < self._length and same_part(last, window):
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


def _check_version(schema: object) -> None:
    name, _, version = str(schema).partition("/")
    if name != lines.SCHEMA or not version.isdigit():
        raise lines.DamagedError("not a header")
    if int(version) > lines.VERSION:
        raise HotloopError(
            f"this capture has format version {int(version)}, from a newer hotloop; this one "
            f"reads up to {lines.VERSION}. Upgrade with: pip install -U hotloop"
        )
