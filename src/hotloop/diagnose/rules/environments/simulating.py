"""Determines by data flow which samples inside a step are the simulation itself.

Values that a step computes from its own previous state cannot be looked up in a table, whatever
their names (`hooks/program/feedback.py` finds them in the source).
"""

from __future__ import annotations

import itertools

from hotloop.analyze.model import Analysis, Frame, Sample
from hotloop.diagnose.naming import stands_before

#: File -> line -> functions called there that are given what came of them before.
Recurrences = dict[str, dict[str, list[str]]]


def recurrences(analysis: Analysis) -> Recurrences:
    """Recurrences of the main process and of its workers."""
    found: Recurrences = {}
    for notes in analysis.all_notes:
        for file, lines in notes.recurrences.items():
            found.setdefault(file, {}).update(lines)
    return found


def simulates(sample: Sample, step: int, found: Recurrences) -> bool:
    """Whether a stack below the frame of a step advances the step's own state."""
    inside = sample.frames[: step + 1]
    for inner, frame in itertools.pairwise(inside):
        if frame.of_program and _is_given_its_result(frame, inner, found):
            return True
    own = next((frame for frame in inside[:-1] if frame.of_program), None)
    return own is not None and "" in lines_at(own.file, own.first_line, found)


def _is_given_its_result(frame: Frame, inner: Frame, found: Recurrences) -> bool:
    called = [name for name in lines_at(frame.file, frame.line, found) if name]
    own = inner.short
    return bool(called) and (own in called or stands_before(inner.function))


def lines_at(file: str, line: int, found: Recurrences) -> list[str]:
    """Functions that are called on a line with what came of them before."""
    return found.get(file, {}).get(str(line), [])
