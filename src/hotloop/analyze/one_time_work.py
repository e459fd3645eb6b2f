"""One-time work inside the training loop: the first reset, imports, compilation, workers' start.

A run of hours pays for it once, so it gets a separate row and is left out of rates and findings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hotloop.capture.schema import ENV_STEPS, GRADIENT_STEPS
from hotloop.capture.window import Window
from hotloop.phases import name_at, names_of

#: Phases that are one-time work by their meaning, however rarely they were entered.
BY_MEANING = frozenset({"import", "startup"})
#: Phases whose only call, or only few calls, were for a start.
FEW_CALLS = {"compile": 3, "env.reset": 1}
#: A phase has ended if a loop does not enter it after this part of its progress.
COMPILES, EARLY = "compile", 0.5
#: Counters that tell how far a loop has come, the best first.
UNITS = (GRADIENT_STEPS, ENV_STEPS)
#: A first call is one-time work from this many times the mean of those that follow.
TIMES_LONGER = 10.0
#: If a later call takes this part of the first, the first was no exception: such calls recur.
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
    #: Paths below it -> their time in it.
    parts: Mapping[str, float] = field(default_factory=dict)

    def inside(self, paths: tuple[str, ...]) -> float:
        """What of it was in these paths, or below them; no path is below another one."""
        if any(self.path == each or self.path.startswith(each + "/") for each in paths):
            return self.seconds
        return min(sum(self.parts.get(path, 0.0) for path in paths), self.seconds)

    def own_times(self) -> Iterator[tuple[str, float]]:
        """(phase, seconds): the own time of each phase in it."""
        whole = {self.path: self.seconds, **self.parts}
        for path, seconds in whole.items():
            below = sum(s for each, s in whole.items() if each.rpartition("/")[0] == path)
            yield name_at(path), max(seconds - below, 0.0)


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
    rows = [Once(path, name_at(path), found[path], _parts(windows, path, paths)) for path in kept]
    return sorted(rows, key=lambda each: -each.seconds)


def _once_s(windows: Sequence[Window], path: str, name: str) -> float:
    deltas = [delta for window in windows if (delta := window.phases.get(path)) is not None]
    # A call that spans windows takes time in each of them, and counts in the one in which it ends.
    total = sum(delta.elapsed_ns for delta in deltas) / 1e9
    deltas = [delta for delta in deltas if delta.calls]
    calls = sum(delta.calls for delta in deltas)
    if name in BY_MEANING or 0 < calls <= FEW_CALLS.get(name, 0):
        return total
    if name == COMPILES and not _goes_on(windows, path):
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


def _goes_on(windows: Sequence[Window], path: str) -> bool:
    """Whether a phase may be entered in the later part of the loop as well, by its progress.

    When within its window it was last entered is not known: it may have been at the end.
    """
    unit = next((n for n in UNITS if any(w.counters.get(n) for w in windows)), None)
    advances = [w.counters.get(unit, 0.0) if unit else w.seconds for w in windows]
    found = [window.phases.get(path) for window in windows]
    last = max((i for i, delta in enumerate(found) if delta is not None and delta.calls), default=0)
    return sum(advances[: last + 1]) > EARLY * sum(advances)


def _parts(windows: Sequence[Window], outer: str, paths: set[str]) -> dict[str, float]:
    """The extra time of each path below `outer` in its first call, compared with later calls."""
    calls_of = [delta.calls if (delta := w.phases.get(outer)) else 0 for w in windows]
    ended = next((i for i, calls in enumerate(calls_of) if calls), len(windows))
    parts: dict[str, float] = {}
    for path in paths:
        if path.startswith(outer + "/"):
            calls = [0, 0]
            ns = [0, 0]
            for index, window in enumerate(windows):
                if (delta := window.phases.get(path)) is not None:
                    calls[index > ended] += delta.calls
                    ns[index > ended] += delta.elapsed_ns
            usual = calls[0] * ns[1] / calls[1] if calls[1] else 0.0
            parts[path] = max(ns[0] - usual, 0.0) / 1e9
    return parts


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
