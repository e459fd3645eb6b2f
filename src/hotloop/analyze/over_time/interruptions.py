"""When a run was not training, and what interrupted it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hotloop.capture.window import Window
from hotloop.phases import is_of_thread, name_at

#: Phases that interrupt training.
INTERRUPTIONS = ("evaluate", "checkpoint", "compile")
MOST_INTERRUPTIONS = 300
#: Interruptions that are closer than this are one: an evaluation is many short episodes.
ONE_INTERRUPTION_S = 0.1


@dataclass(frozen=True)
class Interruption:
    """A period in which the run did something other than training."""

    name: str
    begin_s: float
    end_s: float
    seconds: float
    calls: int


def interruptions(windows: Iterable[Window]) -> list[Interruption]:
    """Evaluations, checkpoints and compilations; one that spans windows counts once."""
    found: list[Interruption] = []
    last: dict[str, int] = {}
    for window in windows:
        for name, (begin, end, seconds, calls) in _in_window(window).items():
            known = found[last[name]] if name in last else None
            if known is not None and begin <= known.end_s + ONE_INTERRUPTION_S:
                seconds, calls = known.seconds + seconds, known.calls + calls
                found[last[name]] = Interruption(name, known.begin_s, end, seconds, calls)
            else:
                last[name] = len(found)
                found.append(Interruption(name, begin, end, seconds, calls))
    if len(found) > MOST_INTERRUPTIONS:
        found = sorted(found, key=lambda each: -each.seconds)[:MOST_INTERRUPTIONS]
    return sorted(found, key=lambda each: each.begin_s)


def _in_window(window: Window) -> dict[str, tuple[float, float, float, int]]:
    """Name -> begin, end, seconds and calls of interruptions of training in a window."""
    found: dict[str, tuple[float, float, float, int]] = {}
    for path, delta in window.phases.items():
        name = name_at(path)
        if name not in INTERRUPTIONS or is_of_thread(path) or delta.elapsed_ns <= 0:
            continue
        begin = (delta.first_ns or window.begin_ns) / 1e9
        if delta.elapsed_ns > (delta.last_ns or window.end_ns) - (delta.first_ns or 0):
            begin = window.begin_ns / 1e9  # it was open before
        end = (delta.last_ns or window.end_ns) / 1e9
        known = found.get(name, (begin, end, 0.0, 0))
        found[name] = (
            min(begin, known[0]),
            max(end, begin, known[1]),
            known[2] + delta.elapsed_ns / 1e9,
            known[3] + delta.calls,
        )
    return found
