"""Reads the samples: which functions and lines ran inside each phase, and how."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from hotloop.analyze.model import Caller, Frame, Function, Phase, Sample
from hotloop.analyze.samples.states import BLOCKED, SampleSums, States, states_of, sum_samples
from hotloop.capture.lines import StackRow
from hotloop.capture.reader import Shard
from hotloop.capture.sample_modes import (
    MODE_NATIVE,
    MODE_PYTHON,
    MODE_UNKNOWN,
    MODE_WAITING_CORE,
)
from hotloop.capture.window import Window
from hotloop.phases import is_of_thread

#: With fewer samples, a table of functions is mostly chance.
FEW_SAMPLES = 50
#: Calling lines with less of a function's time are left out: one sample in fifty.
_SMALLEST_CALLER = 0.02
_MOST_CALLERS = 10

_RUNS = frozenset((MODE_PYTHON, MODE_NATIVE, MODE_UNKNOWN))

_LIBRARY = re.compile(
    r"(site-packages|dist-packages|[/\\]lib[/\\]python\d|[/\\]Lib[/\\](?!site)|^<frozen)", re.I
)
#: The folder of hotloop's own frames, which are removed from samples.
_OWN = re.compile(
    r"[/\\]hotloop[/\\](?:(?:measure|hooks|capture|cli|run|bootstrap)[/\\]|__(?:init|main)__\.py$)"
    r"|[/\\](?:bin|Scripts)[/\\]hotloop(?:-script\.py|\.exe)?$"
)


@dataclass
class _Tally:
    self_ns: int = 0
    total_ns: int = 0
    samples: int = 0
    modes: dict[int, int] = field(default_factory=dict)
    lines: dict[int, int] = field(default_factory=dict)
    #: (file, line) of the nearest frame of the program, of a library's function.
    callers: dict[tuple[str, int], int] = field(default_factory=dict)


def is_program_file(file: str, own_package: str = "") -> bool:
    """Whether a file is the user's own, not a library's or Python's.

    `own_package` is an installed package that is the program.
    """
    if own_package and file.startswith(own_package):
        return True
    return not _LIBRARY.search(file) and not file.startswith("<") and not is_own_file(file)


def is_own_file(file: str) -> bool:
    """Whether a file is hotloop's."""
    return _OWN.search(file) is not None


def unfold(stack: int, stacks: dict[int, StackRow]) -> list[StackRow]:
    """A stack's frames from the inside out, hotloop's own left out."""
    frames: list[StackRow] = []
    seen: set[int] = set()
    while stack and stack not in seen:
        seen.add(stack)
        row = stacks.get(stack)
        if row is None:
            break
        if not is_own_file(row.file):
            frames.append(row)
        stack = row.parent
    return frames


def find_functions(
    windows: Iterable[Window], shard: Shard, process: str, whole_s: float
) -> list[Function]:
    """Functions by phase, the most of their own time first; none of too few samples."""
    samples = {k: v for k, v in sum_samples(windows).items() if not is_of_thread(k[0])}
    if sum(count for count, _ in samples.values()) < FEW_SAMPLES:
        return []
    return _tabulate(samples, shard, process, whole_s)


def find_thread_functions(
    windows: Iterable[Window], shard: Shard, process: str, whole_s: float
) -> list[Function]:
    """Functions of the process's other threads, without their waiting, which is most of it."""
    samples: SampleSums = {}
    taken = 0  # a sample of a waiting thread counts, too: it shows how long the thread runs
    for (path, stack, mode), (count, ns) in sum_samples(windows).items():
        if not is_of_thread(path):
            continue
        taken += count
        if mode in _RUNS:
            key = path.partition("/")[2], stack, mode
            known = samples.get(key, (0, 0))
            samples[key] = (known[0] + count, known[1] + ns)
    return _tabulate(samples, shard, process, whole_s) if taken >= FEW_SAMPLES else []


def _tabulate(samples: SampleSums, shard: Shard, process: str, whole_s: float) -> list[Function]:
    tallies: dict[tuple[str, str, str, int], _Tally] = {}
    unfolded: dict[int, list[StackRow]] = {}
    own = shard.notes.own_package or ""
    for (path, stack, mode), (count, ns) in samples.items():
        if stack not in unfolded:
            unfolded[stack] = unfold(stack, shard.stacks)
        _count_frames(tallies, path, unfolded[stack], mode, count, ns, own)
    # Weights of samples are rounded to ticks: together they are never more than the whole.
    whole_s = max(whole_s, sum(ns for _, ns in samples.values()) / 1e9)
    functions = [_function(*key, tally, process, whole_s, own) for key, tally in tallies.items()]
    return sorted(functions, key=lambda f: (-f.self_s, -f.total_s))


def _count_frames(
    tallies: dict[tuple[str, str, str, int], _Tally],
    path: str,
    frames: list[StackRow],
    mode: int,
    count: int,
    ns: int,
    own: str,
) -> None:
    seen: set[tuple[str, str, int]] = set()
    for depth, row in enumerate(frames):
        key = (row.file, row.function, row.first_line)
        tally = tallies.setdefault((path, *key), _Tally())
        if depth == 0:
            tally.self_ns += ns
            tally.samples += count
            tally.modes[mode] = tally.modes.get(mode, 0) + ns
            tally.lines[row.line] = tally.lines.get(row.line, 0) + ns
            nearest = next((r for r in frames if is_program_file(r.file, own)), None)
            if nearest is not None and nearest is not row:
                caller = (nearest.file, nearest.line)
                tally.callers[caller] = tally.callers.get(caller, 0) + ns
        if key not in seen:  # a recursion counts once
            seen.add(key)
            tally.total_ns += ns


def find_samples(windows: Iterable[Window], shard: Shard, process: str) -> list[Sample]:
    """Every sampled stack, with its phase and the time it represents."""
    unfolded: dict[int, tuple[Frame, ...]] = {}
    #: One object per frame, shared by all stacks: rules use it as a cache key.
    frames: dict[tuple[str, str, int, int], Frame] = {}
    found: list[Sample] = []
    own = shard.notes.own_package or ""
    for (path, stack, mode), (_, ns) in sum_samples(windows).items():
        if is_of_thread(path):
            continue
        if stack not in unfolded:
            unfolded[stack] = tuple(_frame(row, frames, own) for row in unfold(stack, shard.stacks))
        found.append(
            Sample(
                path,
                process,
                unfolded[stack],
                ns / 1e9,
                waiting=mode in BLOCKED,
                native=mode == MODE_NATIVE,
                without_core=mode == MODE_WAITING_CORE,
            )
        )
    return found


def _frame(row: StackRow, frames: dict[tuple[str, str, int, int], Frame], own: str) -> Frame:
    # If the line is not known (0), use the function's first line, which people can open.
    key = (row.file, row.function, row.first_line, row.line or row.first_line)
    frame = frames.get(key)
    if frame is None:
        frame = frames[key] = Frame(*key, is_program_file(row.file, own))
    return frame


def _function(
    phase: str,
    file: str,
    function: str,
    first_line: int,
    tally: _Tally,
    process: str,
    whole_s: float,
    own: str,
) -> Function:
    states = states_of(tally.modes) or States()
    callers = _callers(tally)
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
        python_share=states.python,
        native_share=states.native,
        waiting_share=states.waiting,
        of_program=is_program_file(file, own),
        hot_line=max(tally.lines, key=lambda line: tally.lines[line], default=first_line),
        core_share=states.core,
        lock_share=states.lock,
        io_share=states.io,
        sleeping_share=states.sleeping,
        from_file=callers[0].file if callers else "",
        from_line=callers[0].line if callers else 0,
        callers=callers,
    )


def _callers(tally: _Tally) -> tuple[Caller, ...]:
    """Lines of the program that led to a library's function; the largest is always there."""
    whole_ns = max(tally.self_ns, 1)  # samples may have stood for no time
    by_share = sorted(tally.callers.items(), key=lambda caller: -caller[1])[:_MOST_CALLERS]
    found = (Caller(file, line, ns / whole_ns) for (file, line), ns in by_share)
    return tuple(c for n, c in enumerate(found) if n == 0 or c.share >= _SMALLEST_CALLER)


def add_states(phases: list[Phase], states: Mapping[str, States]) -> None:
    """Write into each phase how its own time was spent: Python, native code, waiting."""
    for phase in phases:
        found = states.get(phase.path)
        if found is not None:
            phase.python_share = found.python
            phase.native_share = found.native
            phase.waiting_share = found.waiting


def short_file(file: str) -> str:
    """The last two parts of a path: enough to know a file by."""
    return "/".join(PurePath(file.replace("\\", "/")).parts[-2:])
