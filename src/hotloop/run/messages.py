"""Prints hotloop's own lines between the program's output."""

from __future__ import annotations

import sys
from typing import TextIO

from hotloop.error_output import write_line


def notify(text: str) -> None:
    """Print a line of hotloop's own on standard error, above progress bars."""
    line = f"hotloop: {text}"
    try:
        stream = _stream()
        if stream is None or _above_tqdm_bars(line, stream):
            return
    except (OSError, ValueError):
        return  # a closed pipe
    write_line(stream, line)


def _stream() -> TextIO | None:
    """Standard error, or the process's own if the program closed or removed it.

    While rich draws, `sys.stderr` is its own and prints above what it draws.
    """
    stream = sys.stderr
    return sys.__stderr__ if stream is None or getattr(stream, "closed", False) else stream


def _above_tqdm_bars(line: str, stream: TextIO) -> bool:
    """Let tqdm print the line if it has bars on the screen: it clears them and draws them again."""
    tqdm = getattr(sys.modules.get("tqdm.std"), "tqdm", None)
    if tqdm is None or not stream.isatty():
        return False
    try:
        if not list(getattr(tqdm, "_instances", ())):
            return False
        tqdm.write(line, file=stream)
    except Exception:  # a release with another interface
        return False
    return True
