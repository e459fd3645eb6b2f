"""Import time before the loop, by the line of the program that imports, from start-up's samples."""

from __future__ import annotations

from dataclasses import dataclass

from hotloop.analyze.model import Analysis
from hotloop.phases import names_of

#: A line below this share of the import time is left out.
SMALLEST_SHARE = 0.03
MOST_LINES = 6
#: Import time below this is not worth a table.
SHORTEST_S = 2.0


@dataclass(frozen=True)
class ImportLine:
    """An import statement of the program, with all that it imports in turn."""

    file: str
    line: int
    seconds: float
    #: Of the import time.
    share: float


def import_lines(analysis: Analysis) -> list[ImportLine]:
    """Import statements by their time, the longest first; empty where little was imported."""
    whole = sum(p.total_s for p in analysis.startup if p.name == "import" and p.process == "main")
    found: dict[tuple[str, int], float] = {}
    for sample in analysis.startup_samples:
        if "import" in names_of(sample.path):
            # Frames are from the inside out: the first of the program holds the statement.
            own = next((frame for frame in sample.frames if frame.of_program), None)
            if own is not None:
                place = own.file, own.line
                found[place] = found.get(place, 0.0) + sample.seconds
    sampled = sum(found.values())
    if whole < SHORTEST_S or sampled <= 0:
        return []
    rows = [
        ImportLine(file, line, whole * seconds / sampled, seconds / sampled)
        for (file, line), seconds in found.items()
    ]
    rows.sort(key=lambda row: -row.seconds)
    return [row for row in rows if row.share >= SMALLEST_SHARE][:MOST_LINES]
