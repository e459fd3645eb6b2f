"""Import time before the loop, by the line of the program that imports, from start-up's samples."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hotloop.analyze.model import Analysis, Frame

#: A file of an installed package.
_PACKAGE = re.compile(r"[/\\](?:site|dist)-packages[/\\]([A-Za-z]\w*)")
#: A line below this share of the import time is left out.
SMALLEST_SHARE = 0.03
MOST_LINES = 6
#: Import time below this is not worth a table.
SHORTEST_S = 2.0


@dataclass(frozen=True)
class ImportLine:
    """An import statement of the program, with everything that it imports indirectly."""

    file: str
    line: int
    seconds: float
    #: As a share of the import time.
    share: float
    #: Installed packages by the time spent in their own files, the longest first.
    packages: tuple[tuple[str, float], ...]


def import_lines(analysis: Analysis) -> list[ImportLine]:
    """Import statements by their time, the longest first; empty if little was imported."""
    whole = sum(p.total_s for p in analysis.startup if p.name == "import" and p.process == "main")
    found: dict[tuple[str, int], dict[str, float]] = {}
    for sample in analysis.startup_samples:
        if "import" in sample.phases:
            # Frames are from the inside out: the first of the program holds the statement.
            own = next(iter(sample.own), None)
            if own is not None:
                packages = found.setdefault((own.file, own.line), {})
                package = _package_of(sample.frames)
                packages[package] = packages.get(package, 0.0) + sample.seconds
    sampled = sum(sum(packages.values()) for packages in found.values())
    if whole < SHORTEST_S or sampled <= 0:
        return []
    rows = [
        _row(place, packages, whole / sampled, sum(packages.values()) / sampled)
        for place, packages in found.items()
    ]
    rows.sort(key=lambda row: -row.seconds)
    return [row for row in rows if row.share >= SMALLEST_SHARE][:MOST_LINES]


def _row(
    place: tuple[str, int], packages: dict[str, float], scale: float, share: float
) -> ImportLine:
    named = sorted(packages.items(), key=lambda item: -item[1])
    installed = tuple((name, scale * seconds) for name, seconds in named if name)
    return ImportLine(*place, scale * sum(packages.values()), share, installed)


def _package_of(frames: tuple[Frame, ...]) -> str:
    """The installed package of the innermost frame that is in one; empty if none is."""
    found = (_PACKAGE.search(frame.file) for frame in frames)
    return next((match[1] for match in found if match), "")
