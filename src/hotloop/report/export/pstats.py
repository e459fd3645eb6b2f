"""For pstats and tools that read its files (snakeviz, gprof2dot, tuna).

A run with `--functions exact` left such a file already, which is returned. Otherwise functions
come from the samples: their times are estimates, their call counts unknown and given as 1. Phases
are functions of the file `hotloop`, with their true numbers of calls.
"""

from __future__ import annotations

import marshal

from hotloop.analyze.model import Analysis
from hotloop.analyze.samples.weighted_stacks import WeightedStack, weighted_stacks
from hotloop.phases import path_of
from hotloop.report.console.terminal import clean
from hotloop.report.document import Report
from hotloop.report.view import DEFAULT_VIEW, View

#: File, line and name, which identify a function in pstats.
_Name = tuple[str, int, str]

#: Calls (recursive ones left out), calls, own time, cumulative time.
_Times = list[float]

_FILE = "hotloop"
_EXACT = "main.prof"


def render(report: Report, view: View = DEFAULT_VIEW) -> bytes:
    """The file, as bytes."""
    if report.history is not None:
        exact = report.history.folder / _EXACT
        if exact.is_file():
            return exact.read_bytes()
    return marshal.dumps(_stats(report.analysis))


def _stats(analysis: Analysis) -> dict[_Name, tuple[object, ...]]:
    calls = {p.path: p.calls for p in analysis.phases if p.process == "main"}
    times: dict[_Name, _Times] = {}
    callers: dict[_Name, dict[_Name, _Times]] = {}
    for stack in weighted_stacks(analysis):
        names = _names(stack)
        for depth, name in enumerate(names):
            if name in names[:depth]:
                continue  # a recursion counts once
            own = stack.seconds if depth == len(names) - 1 else 0.0
            _add(times.setdefault(name, [0, 0, 0.0, 0.0]), own, stack.seconds)
            if depth:
                above = callers.setdefault(name, {}).setdefault(names[depth - 1], [0, 0, 0.0, 0.0])
                _add(above, own, stack.seconds)
        if names[-1] in names[:-1]:
            times[names[-1]][2] += stack.seconds
    phases = {_phase(path): count for path, count in calls.items()}
    return {
        name: (
            phases.get(name, 1),
            phases.get(name, 1),
            own,
            total,
            {
                caller: (1, 1, inner_own, inner_total)
                for caller, (_, _, inner_own, inner_total) in callers.get(name, {}).items()
            },
        )
        for name, (_, _, own, total) in times.items()
    }


def _add(times: _Times, own: float, total: float) -> None:
    times[2] += own
    times[3] += total


def _names(stack: WeightedStack) -> list[_Name]:
    phases = [
        _phase(path_of(list(stack.phases[:depth]))) for depth in range(1, len(stack.phases) + 1)
    ]
    return phases + [(clean(f.file), f.first_line, clean(f.function)) for f in stack.frames]


def _phase(path: str) -> _Name:
    return _FILE, 0, f"[{clean(path)}]"
