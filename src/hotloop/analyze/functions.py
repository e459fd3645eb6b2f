"""Reads the samples: which functions and lines ran inside each phase, and how."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePath

from hotloop.analyze.model import Frame, Function, Phase, Sample
from hotloop.capture.lines import StackRow
from hotloop.capture.window import Window

PYTHON, NATIVE, WAITING, UNKNOWN = range(4)

_LIBRARY = re.compile(
    r"(site-packages|dist-packages|[/\\]lib[/\\]python\d|[/\\]Lib[/\\](?!site)|^<frozen)", re.I
)
#: Where a frame of hotloop's own would come from: seen by the sampler, not the program's.
_OWN = re.compile(r"[/\\]hotloop[/\\](?:(?:measure|hooks|capture|cli)[/\\]|__init__\.py$)")
#: A thread that stands in one of these is waiting, whatever its processor time says.
_WAITING_NAMES = frozenset({"wait", "acquire", "select", "poll", "recv", "sleep", "get", "join"})


@dataclass
class _Tally:
    self_ns: int = 0
    total_ns: int = 0
    samples: int = 0
    modes: dict[int, int] = field(default_factory=dict)
    lines: dict[int, int] = field(default_factory=dict)


def is_program_file(file: str) -> bool:
    """Whether a file is the user's own, not a library's or Python's."""
    return not _LIBRARY.search(file) and not file.startswith("<") and not _OWN.search(file)


def unfold(stack: int, stacks: dict[int, StackRow]) -> list[StackRow]:
    """A stack's frames from the inside out, hotloop's own left out."""
    frames: list[StackRow] = []
    seen: set[int] = set()
    while stack and stack not in seen:
        seen.add(stack)
        row = stacks.get(stack)
        if row is None:
            break
        if not _OWN.search(row.file):
            frames.append(row)
        stack = row.parent
    return frames


def find_functions(
    windows: Iterable[Window], stacks: dict[int, StackRow], process: str, whole_s: float
) -> list[Function]:
    """Functions by phase, the most of their own time first."""
    tallies: dict[tuple[str, str, str, int], _Tally] = {}
    unfolded: dict[int, list[StackRow]] = {}
    for (path, stack, mode), (count, ns) in _sum_samples(windows).items():
        if path.startswith("@thread"):
            continue
        if stack not in unfolded:
            unfolded[stack] = unfold(stack, stacks)
        seen: set[tuple[str, str, int]] = set()
        for depth, row in enumerate(unfolded[stack]):
            key = (row.file, row.function, row.first_line)
            tally = tallies.setdefault((path, *key), _Tally())
            if depth == 0:
                tally.self_ns += ns
                tally.samples += count
                tally.modes[mode] = tally.modes.get(mode, 0) + ns
                tally.lines[row.line] = tally.lines.get(row.line, 0) + ns
            if key not in seen:  # a recursion counts once
                seen.add(key)
                tally.total_ns += ns
    functions = [_function(*key, tally, process, whole_s) for key, tally in tallies.items()]
    return sorted(functions, key=lambda f: (-f.self_s, -f.total_s))


def find_samples(
    windows: Iterable[Window], stacks: dict[int, StackRow], process: str
) -> list[Sample]:
    """Every stack that was seen, with its phase and the time that it stands for."""
    unfolded: dict[int, tuple[Frame, ...]] = {}
    #: One object for each place, however many stacks go through it: rules remember by it.
    frames: dict[tuple[str, str, int, int], Frame] = {}
    found: list[Sample] = []
    for (path, stack, mode), (_, ns) in _sum_samples(windows).items():
        if path.startswith("@thread"):
            continue
        if stack not in unfolded:
            unfolded[stack] = tuple(_frame(row, frames) for row in unfold(stack, stacks))
        found.append(Sample(path, process, unfolded[stack], ns / 1e9, mode == WAITING))
    return found


def _frame(row: StackRow, frames: dict[tuple[str, str, int, int], Frame]) -> Frame:
    # Where a line is not known (0) the function's first one is a place that people can open.
    key = (row.file, row.function, row.first_line, row.line or row.first_line)
    frame = frames.get(key)
    if frame is None:
        frame = frames[key] = Frame(*key, is_program_file(row.file))
    return frame


def _sum_samples(windows: Iterable[Window]) -> dict[tuple[str, int, int], tuple[int, int]]:
    total: dict[tuple[str, int, int], tuple[int, int]] = {}
    for window in windows:
        for key, (count, ns) in window.samples.items():
            known = total.get(key, (0, 0))
            total[key] = (known[0] + count, known[1] + ns)
    return total


def _function(
    phase: str,
    file: str,
    function: str,
    first_line: int,
    tally: _Tally,
    process: str,
    whole_s: float,
) -> Function:
    whole = sum(tally.modes.values()) or 1
    return Function(
        phase=phase,
        file=file,
        function=function,
        line=first_line,
        process=process,
        self_s=tally.self_ns / 1e9,
        total_s=tally.total_ns / 1e9,
        share=tally.self_ns / 1e9 / whole_s if whole_s > 0 else 0.0,
        samples=tally.samples,
        python_share=tally.modes.get(PYTHON, 0) / whole,
        native_share=tally.modes.get(NATIVE, 0) / whole,
        waiting_share=tally.modes.get(WAITING, 0) / whole,
        of_program=is_program_file(file),
        hot_line=max(tally.lines, key=lambda line: tally.lines[line])
        if tally.lines
        else first_line,
    )


def add_modes(phases: list[Phase], windows: Iterable[Window]) -> None:
    """Write into each phase how its own time was spent: Python, native code, waiting."""
    modes: dict[str, dict[int, int]] = {}
    for (path, _, mode), (_, ns) in _sum_samples(windows).items():
        table = modes.setdefault(path, {})
        table[mode] = table.get(mode, 0) + ns
    for phase in phases:
        table = modes.get(phase.path, {})
        known = sum(ns for mode, ns in table.items() if mode != UNKNOWN)
        if known:
            phase.python_share = table.get(PYTHON, 0) / known
            phase.native_share = table.get(NATIVE, 0) / known
            phase.waiting_share = table.get(WAITING, 0) / known


def short_file(file: str) -> str:
    """The last two parts of a path: enough to know a file by."""
    return "/".join(PurePath(file.replace("\\", "/")).parts[-2:])
