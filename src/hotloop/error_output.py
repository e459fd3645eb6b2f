"""Writes hotloop's own lines on the program's standard error, and leaves nothing in its buffers."""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO


def write_line(stream: TextIO | None, line: str) -> None:
    """Print a line; what cannot be written is lost, and not kept to fail again later.

    Python flushes standard error once more when it exits, and an error then changes the exit code.
    """
    if stream is None:
        return
    try:
        file = _file_below(stream)
        if file is None:
            print(line, file=stream, flush=True)
            return
        stream.flush()
        left = memoryview((line + "\n").encode(stream.encoding, "backslashreplace"))
        while left:
            written = file.write(left)
            if not written:
                break  # a full pipe that does not block
            left = left[written:]
    except (OSError, ValueError):
        pass  # closed, or a file that cannot grow


def _file_below(stream: TextIO) -> io.FileIO | None:
    """The file that a stream of Python's own writes to; it is not asked for on Windows."""
    if stream is not sys.__stderr__ or type(stream) is not io.TextIOWrapper or os.name == "nt":
        return None
    file = getattr(stream.buffer, "raw", None)
    return file if type(file) is io.FileIO else None
