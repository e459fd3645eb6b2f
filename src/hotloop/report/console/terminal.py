"""The terminal: its width, its colors, and text that is safe to print."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TextIO
from urllib.parse import quote

from hotloop.phases import GAP

NARROW, WIDE = 80, 120

#: Also lone surrogates, which cannot be encoded.
_CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


@dataclass(frozen=True)
class Style:
    """How wide a page is, and whether it may have colors."""

    width: int = 100
    color: bool = False
    unicode: bool = True
    #: Whether the terminal supports clickable links.
    links: bool = False

    def link(self, text: str, path: str | Path) -> str:
        """Text that opens a file or folder when it is clicked (OSC 8)."""
        if not self.links:
            return text
        address = f"file://{platform.node()}{quote(os.path.abspath(path))}"
        return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"

    def paint(self, text: str, *names: str) -> str:
        if not self.color or not names:
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
    """Text from a program, without escapes that move the cursor or reverse the text."""
    return _CONTROL.sub("�", text)


def fit(text: str, width: int) -> str:
    """Text cut to a number of columns: names lose their middle. Never used for numbers."""
    if len(text) <= width:
        return text.ljust(width)
    if width < 5:
        return text[:width]
    tail = (width - 1) // 2
    return text[: width - 1 - tail] + "…" + text[-tail:]


def fit_phase(name: str, width: int) -> str:
    """A phase's name in a number of columns; of a gap, the two events that it lies between."""
    if len(name) > width and name.startswith(GAP):
        name = name[len(GAP) :].replace(" and ", "…", 1)
    return fit(name, width)


def columns(rows: Sequence[Sequence[str]], sides: str) -> list[str]:
    """Rows of cells as lines; `sides` has < or > for each column: aligned on the left or right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{c:{side}{width}}" for c, side, width in zip(row, sides, widths, strict=True))
        for row in rows
    ]


def beside(cells: str, words: str, style: Style, *paint: str) -> str:
    """A row of a table with text at its end, or below the row if there is no room."""
    if len(cells) + len(words) <= style.width:
        return cells + style.paint(words, *paint)
    lines = wrap(words, style.width, initial_indent="    ", subsequent_indent="    ")
    return "\n".join([cells.rstrip(), *(style.paint(line, *paint) for line in lines)])


def wrapped(text: str, style: Style, *paint: str, indent: int = 0) -> str:
    """A text in lines of the style's width, each indented."""
    space = " " * indent
    lines = wrap(clean(text), style.width, initial_indent=space, subsequent_indent=space)
    return "\n".join(style.paint(line, *paint) for line in lines)


def paragraphs(texts: Iterable[str], style: Style, *paint: str) -> str:
    """Texts that may have several lines, wrapped; each starts on a new line."""
    return "\n".join(wrapped(line, style, *paint) for text in texts for line in text.splitlines())


def joined(blocks: Iterable[str]) -> str:
    """The blocks of a report that are not empty, with an empty line between two of them."""
    return "\n\n".join(block for block in blocks if block) + "\n"


def style_for(stream: TextIO) -> Style:
    """The style that a stream supports: NO_COLOR, pipes and dumb terminals are plain."""
    terminal = stream.isatty() if hasattr(stream, "isatty") else False
    dumb = os.environ.get("TERM") == "dumb"
    color = terminal and not dumb and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size((100, 24)).columns if terminal else 100
    if "COLUMNS" in os.environ and os.environ["COLUMNS"].isdigit():
        width = int(os.environ["COLUMNS"])
    encoding = (getattr(stream, "encoding", None) or "ascii").lower()
    links = color and _knows_links(os.environ)
    return Style(min(max(width, NARROW), WIDE), color, encoding.startswith("utf"), links)


#: Programs and variables of terminals that show links; others may print the escape as text.
_LINKING_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio")
_LINKING_VARIABLES = ("KITTY_WINDOW_ID", "WT_SESSION", "KONSOLE_VERSION", "DOMTERM")
_LINKING_TERMS = ("xterm-kitty", "foot", "alacritty", "xterm-ghostty")
#: The first release of VTE (GNOME Terminal and others) with links that work.
_LINKING_VTE = 5000


def _knows_links(environment: Mapping[str, str]) -> bool:
    vte = environment.get("VTE_VERSION", "")
    return (
        environment.get("TERM_PROGRAM") in _LINKING_PROGRAMS
        or any(name in environment for name in _LINKING_VARIABLES)
        or environment.get("TERM", "").startswith(_LINKING_TERMS)
        or (vte.isdigit() and int(vte) >= _LINKING_VTE)
    )


def silence(stream: TextIO) -> None:
    """Redirect a closed stream, so that Python does not fail again when it closes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def write(stream: TextIO, text: str) -> None:
    """Print, and ignore a closed pipe."""
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
        silence(stream)  # closed by the program; flushing its buffer must not fail later
        raise
