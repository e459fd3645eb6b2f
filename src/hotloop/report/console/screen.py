"""Ways to show a changing view: the whole screen, the bottom of one, or lines.

`FullScreen` is for a terminal that nothing else writes to. `Foot` keeps the last rows of a
terminal that another program writes to: that program's output scrolls above. `Lines` is for pipes
and terminals that cannot be drawn on. Each writes a whole frame in one call, so that output does
not interleave.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TextIO

from hotloop.report.console.terminal import Style

#: Minimum rows of a foot; the terminal must keep twice as many for the program.
SMALLEST_FOOT = 6
LARGEST_FOOT = 10


class FullScreen:
    """The alternate screen: the previous contents are restored."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        _allow_escapes()
        _put(stream, "\x1b[?1049h\x1b[?25l")

    def size(self) -> tuple[int, int]:
        return _size(self._stream)

    def draw(self, lines: list[str]) -> None:
        rows = "\r\n".join(line + "\x1b[K" for line in lines)
        _put(self._stream, "\x1b[H" + rows + "\x1b[J")

    def close(self) -> None:
        _put(self._stream, "\x1b[?25h\x1b[?1049l")


class Foot:
    """The last rows of a terminal, below a region in which everything else scrolls."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._rows = self._height = 0
        _allow_escapes()

    def size(self) -> tuple[int, int]:
        """Columns, and the rows of the foot; 0 rows if there is no room for it."""
        columns, rows = _size(self._stream)
        height = min(rows // 3, LARGEST_FOOT)
        return columns, height if height >= SMALLEST_FOOT else 0

    def draw(self, lines: list[str]) -> None:
        rows = _size(self._stream)[1]
        height = self.size()[1]
        text = ""
        if (rows, height) != (self._rows, self._height):
            text += self._let_go() + self._take(rows, height)
            self._rows, self._height = rows, height
        if height:
            first = rows - height + 1
            text += "\x1b7"
            for row in range(height):
                line = lines[row] if row < len(lines) else ""
                text += f"\x1b[{first + row};1H{line}\x1b[K"
            text += "\x1b8"
        _put(self._stream, text)

    def close(self) -> None:
        _put(self._stream, self._let_go())
        self._rows = self._height = 0

    def _take(self, rows: int, height: int) -> str:
        if not height:
            return ""
        # Room is made first, so that nothing that was written is covered; setting the region
        # moves the cursor, which is kept.
        room = "\n" * height + f"\x1b[{height}A"
        return room + f"\x1b7\x1b[1;{rows - height}r\x1b8"

    def _let_go(self) -> str:
        if not self._height:
            return ""
        first = self._rows - self._height + 1
        return f"\x1b7\x1b[r\x1b[{first};1H\x1b[J\x1b8"


class Lines:
    """One line now and then."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def size(self) -> tuple[int, int]:
        return _size(self._stream)

    def draw(self, lines: list[str]) -> None:
        _put(self._stream, "".join(line + "\n" for line in lines))

    def close(self) -> None:
        pass


Screen = FullScreen | Foot | Lines


def can_be_drawn_on(stream: TextIO) -> bool:
    """Whether a cursor can be moved there."""
    return stream.isatty() and os.environ.get("TERM", "") not in ("dumb", "")


def style_of(screen: Screen, style: Style) -> Style:
    """The style, as wide as the screen is now."""
    columns = screen.size()[0]
    return replace(style, width=max(min(columns, 160), 60))


def _size(stream: TextIO) -> tuple[int, int]:
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return 100, 24
    return size.columns or 100, size.lines or 24


def _put(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "ascii"
    data = text.encode(encoding, "replace")
    stream.flush()
    while data:
        data = data[os.write(stream.fileno(), data) :]


def _allow_escapes() -> None:
    if sys.platform == "win32":
        os.system("")  # switches the console's own interpretation of escapes on
