"""Sampled functions in words, for every renderer: the state they were in, the line they were at."""

from __future__ import annotations

import linecache
from collections.abc import Collection

from hotloop import units
from hotloop.analyze.model import Analysis, Function
from hotloop.report.words.paths import path_from_here
from hotloop.sources import is_unchanged

#: Longer source lines are cut.
_MOST_SOURCE = 100
#: Functions below this share of the loop are left out; those of other threads, which have a fifth
#: of the samples, below a larger one.
SMALLEST_SHARE = 0.005
SMALLEST_OF_THREADS = 0.03


def functions_of(analysis: Analysis, processes: Collection[str]) -> list[Function]:
    """The functions to show of these processes, the most first."""
    own = (f for f in analysis.functions if f.process in processes)
    return [function for function in own if function.share >= SMALLEST_SHARE]


def thread_functions_of(analysis: Analysis) -> list[Function]:
    """The same of the other threads of the main process."""
    return [f for f in analysis.thread_functions if f.share >= SMALLEST_OF_THREADS]


def states_words(function: Function) -> str:
    """The largest state of a function's own time, with its share."""
    name, share = max(function.states.items(), key=lambda state: state[1])
    return f"{name} {share:.0%}" if share > 0 else ""


def place_words(function: Function) -> str:
    """The hottest line, and for a library's function the line of the program that led to it."""
    place = f"{path_from_here(function.file)}:{function.hot_line}"
    called = callers_words(function)
    return f"{place}, {called}" if called else place


def callers_words(function: Function) -> str:
    """The line of the program that led to a library's function, and how many others did."""
    if not function.from_file:
        return ""
    words = f"from {path_from_here(function.from_file)}:{function.from_line}"
    more = len(function.callers) - 1
    return f"{words} and {units.plural(more, 'more line')}" if more > 0 else words


def short_lines(lines: str) -> str:
    """`file:first-last function` with the file as one types it here."""
    place, _, function = lines.rpartition(" ")
    file, _, span = place.rpartition(":")
    return f"{path_from_here(file)}:{span} {function}"


def source_line(analysis: Analysis, function: Function) -> str:
    """The source of a function's hottest line; empty for a library's or if the file changed."""
    if not function.of_program:
        return ""
    return unchanged_line(analysis, function.file, function.hot_line)


def unchanged_line(analysis: Analysis, file: str, line: int) -> str:
    """A line of source; empty when the file has changed since the run."""
    if not is_unchanged(file, analysis.run.header.started):
        return ""
    return linecache.getline(file, line).strip()[:_MOST_SOURCE]
