"""The terminal: its width, its colours, and text that cannot harm it."""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from textwrap import wrap
from typing import TextIO

NARROW, WIDE = 80, 120

#: Also halves of a letter, which no file can hold.
_CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


@dataclass(frozen=True)
class Style:
    """How wide a page is, and whether it may have colours."""

    width: int = 100
    colour: bool = False
    unicode: bool = True

    def paint(self, text: str, *names: str) -> str:
        if not self.colour or not names:
            return text
        codes = ";".join(_CODES[name] for name in names)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def bar(self, share: float, width: int) -> str:
        """A bar of `width` cells for a share of 1."""
        share = min(max(share, 0.0), 1.0)
        if not self.unicode:
            return ("#" * round(share * width)).ljust(width)
        eighths = round(share * width * 8)
        full, rest = divmod(eighths, 8)
        return ("█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")).ljust(width)


def clean(text: str) -> str:
    """Text from a program, without what could move a cursor or turn a line around."""
    return _CONTROL.sub("�", text)


def fit(text: str, width: int) -> str:
    """Text in so many columns; names may be cut in their middle, numbers never come here."""
    if len(text) <= width:
        return text.ljust(width)
    if width < 5:
        return text[:width]
    tail = (width - 1) // 2
    return text[: width - 1 - tail] + "…" + text[-tail:]


def beside(cells: str, words: str, style: Style, *paint: str) -> str:
    """A row of a table with words at its end: below the row where there is no room beside it."""
    if len(cells) + len(words) <= style.width:
        return cells + style.paint(words, *paint)
    lines = wrap(words, style.width, initial_indent="    ", subsequent_indent="    ")
    return "\n".join([cells.rstrip(), *(style.paint(line, *paint) for line in lines)])


def paragraph(text: str, style: Style, *paint: str) -> str:
    """A sentence or more in as many lines as it takes."""
    lines = [line for part in text.splitlines() for line in wrap(clean(part), style.width)]
    return "\n".join(style.paint(line, *paint) for line in lines)


def paragraphs(texts: list[str], style: Style, *paint: str) -> str:
    """Each on lines of its own."""
    return "\n".join(paragraph(text, style, *paint) for text in texts)


def style_for(stream: TextIO) -> Style:
    """What that stream can show: NO_COLOR, pipes and dumb terminals are plain."""
    terminal = stream.isatty() if hasattr(stream, "isatty") else False
    dumb = os.environ.get("TERM") == "dumb"
    colour = terminal and not dumb and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size((100, 24)).columns if terminal else 100
    if "COLUMNS" in os.environ and os.environ["COLUMNS"].isdigit():
        width = int(os.environ["COLUMNS"])
    encoding = (getattr(stream, "encoding", None) or "ascii").lower()
    return Style(min(max(width, NARROW), WIDE), colour, encoding.startswith("utf"))


def silence(stream: TextIO) -> None:
    """Nobody reads it any more: Python would complain again as it closes the stream."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def write(stream: TextIO, text: str) -> None:
    """Print, and be silent when nobody reads any more."""
    try:
        stream.write(text if text.endswith("\n") else text + "\n")
        stream.flush()
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")
        stream.flush()
    except BrokenPipeError:
        silence(stream)
        sys.exit(0)
    except OSError:
        silence(stream)  # closed by the program; what is in its buffer must not fail later
        raise
