"""Source files as a person would type them here."""

from __future__ import annotations

import os

from hotloop.analyze.samples.functions import short_file
from hotloop.capture.schema import SourceLine


def place_of(line: SourceLine) -> str:
    """A line of source: train.py:12."""
    return f"{path_from_here(line.file)}:{line.line}"


def path_from_here(file: str) -> str:
    """A file relative to the current folder, or its last two parts if it is elsewhere or gone."""
    try:
        relative = os.path.relpath(file)
    except (ValueError, OSError):  # another drive, or no current folder any more
        return short_file(file)
    below = not relative.startswith(os.pardir)
    return relative if below and os.path.exists(relative) else short_file(file)
