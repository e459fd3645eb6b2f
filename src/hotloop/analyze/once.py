"""One-time work inside the training loop: the first reset, imports, compilation, workers' start.

A run of hours pays for it once, so it gets a separate row and is left out of rates and findings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hotloop.capture.window import Window
from hotloop.phases import name_at, names_of

#: Phases that are one-time work by their meaning, however rarely they were entered.
BY_MEANING = frozenset({"import", "startup"})
#: Phases whose only call, or only few calls, were for a start.
FEW_CALLS = {"compile": 3, "env.reset": 1}
#: A first call is one-time work from this many times the mean of those that follow.
TIMES_LONGER = 10.0
#: A later call this long, as a part of the first, is no exception: such calls recur.
RECURS = 0.5
#: Shorter than this, and a smaller share of the loop, it does not affect a rate.
LEAST_S = 0.1
LEAST_SHARE = 0.01
#: One-time work inside a longer call is named itself if it is most of that call.
MOST_OF_IT = 0.7


@dataclass(frozen=True)
class Once:
    """Time at one node of the region tree that the run spends once."""

    path: str
    name: str
    seconds: float


def find_once(windows: Sequence[Window], loop_s: float) -> list[Once]:
    """One-time work of the main thread, each moment once, the longest first."""
    paths = {path for window in windows for path in window.phases if not path.startswith("@")}
    least = max(LEAST_S, LEAST_SHARE * loop_s)
    found: dict[str, float] = {}
    for path in paths:
        names = names_of(path)
        if names and "evaluate" not in names:
            seconds = _once_s(windows, path, names[-1])
            if seconds >= least:
                found[path] = seconds
    kept = [path for path in found if _stands(path, found)]
    rows = [Once(path, name_at(path), found[path]) for path in kept]
    return sorted(rows, key=lambda each: -each.seconds)


def _once_s(windows: Sequence[Window], path: str, name: str) -> float:
    deltas = [delta for window in windows if (delta := window.phases.get(path)) is not None]
    # A call that spans windows takes time in each of them, and counts in the one in which it ends.
    total = sum(delta.elapsed_ns for delta in deltas) / 1e9
    deltas = [delta for delta in deltas if delta.calls]
    calls = sum(delta.calls for delta in deltas)
    if name in BY_MEANING or 0 < calls <= FEW_CALLS.get(name, 0):
        return total
    if not deltas:
        return 0.0
    first = deltas[0].max_ns / 1e9
    if calls < 2 or any(later.max_ns / 1e9 >= RECURS * first for later in deltas[1:]):
        return 0.0
    rest = (total - first) / (calls - 1)
    # Windows that were merged, or a run of one window, hide whether the longest call was the first.
    if len(deltas) < 2 or first < TIMES_LONGER * rest:
        return 0.0
    return first - rest


def _stands(path: str, found: dict[str, float]) -> bool:
    """Whether this row is kept: the innermost that is most of a call, else the outermost."""
    inner = sum(s for other, s in found.items() if other.startswith(path + "/"))
    if inner >= MOST_OF_IT * found[path]:
        return False
    outer = [other for other in found if path.startswith(other + "/")]
    return all(
        sum(s for each, s in found.items() if each.startswith(other + "/"))
        >= MOST_OF_IT * found[other]
        for other in outer
    )
