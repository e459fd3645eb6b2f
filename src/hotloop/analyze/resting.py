"""Scales what was measured in stretches to the whole loop.

Between two stretches (`native/stretches.c`) time belongs to `(rest)`, a node below whatever was
open. Phases that do not rest were measured inside it. What is left, the own times of `(rest)` and
of these phases, is shared out over the phases that rested, in the proportion in which the stretches
around it found them. So the sums of a window stay what they were, and everything that reads windows
reads them as if every call had been measured.

Proportions are those of many stretches together: an update may be in one stretch of twenty, and
then in none of most. How far they may be off is the standard error of a ratio of sums (Cochran,
Sampling Techniques, section 6.3), with stretches as the units that were drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from hotloop.analyze.correction import add_up
from hotloop.capture import schema
from hotloop.capture.growing import Shard
from hotloop.capture.schema import Notes
from hotloop.capture.window import PhaseDelta, Samples, Window
from hotloop.phases import REST

#: Stretches whose proportions are used together.
STRETCHES_TOGETHER = 64
#: Fewer than this tell too little: what was measured in full before them is used as well.
FEWEST_STRETCHES = 8


def whole(shard: Shard) -> Shard:
    """The shard as if every call had been measured."""
    if not any(_rests(window) for window in shard.windows):
        return shard
    rested = frozenset(shard.notes.rested)
    known = add_up([_measured(window) for window in shard.windows if window.loop_last_ns])
    loop_end_ns = max(window.loop_last_ns for window in shard.windows)
    windows: list[Window] = []
    units: list[_Unit] = []
    full: list[_Part] = []
    for group in _groups(shard.windows):
        parts = [_Part(window, rested, known, loop_end_ns) for window in group]
        sampled = [part for part in parts if part.is_sample]
        enough = sum(part.stretches for part in sampled) >= FEWEST_STRETCHES
        proportions = _Proportions(sampled if enough else full + parts, rested)
        windows += [part.filled(proportions) for part in parts]
        units += _units(sampled)
        if group[0].loop_last_ns:
            full = parts if any(map(_rests, group)) else full + parts
    return replace(
        shard,
        windows=windows,
        errors_s=_errors(units),
        rested_s=sum(unit.rested_ns for unit in units) / 1e9,
        notes=_scaled_notes(shard, windows),
    )


def _scaled_notes(shard: Shard, windows: list[Window]) -> Notes:
    """Copies that source lines cause were counted in stretches only."""
    counted, all_of_them = (
        sum(window.counters.get(schema.TRANSFERS, 0) for window in each)
        for each in (shard.windows, windows)
    )
    scale = all_of_them / counted if counted else 1.0
    rows = [
        [each.file, each.line, each.function, each.what]
        + [round(n * scale) for n in (each.transfers, each.bytes, each.syncs)]
        for each in shard.notes.transfer_lines
    ]
    return shard.notes.changed({Notes.transfer_lines: rows}) if rows else shard.notes


def _rests(window: Window) -> bool:
    return any(_below_rest(path) is not None for path in window.phases)


def _below_rest(path: str) -> tuple[str, list[str]] | None:
    """(what was open, names below the rest); None for what was measured in a stretch."""
    if REST not in path:
        return None
    names = path.split("/")
    if REST not in names:
        return None
    at = names.index(REST)
    return "/".join(names[:at]), names[at + 1 :]


def _measured(window: Window) -> Window:
    """The window without what happened between stretches."""
    return replace(
        window,
        phases={p: d for p, d in window.phases.items() if _below_rest(p) is None},
    )


def _groups(windows: Sequence[Window]) -> Iterator[list[Window]]:
    """Windows whose stretches are used together; before the first rest, each by itself."""
    groups: list[list[Window]] = []
    stretches = STRETCHES_TOGETHER
    for window in windows:
        rests = sum(d.calls for p, d in window.phases.items() if p.rpartition("/")[2] == REST)
        if not _rests(window) and not (groups and any(map(_rests, groups[-1]))):
            groups.append([window])
            continue
        if stretches >= STRETCHES_TOGETHER:
            groups.append([])
            stretches = 0
        groups[-1].append(window)
        stretches += rests
    if len(groups) > 1 and stretches < STRETCHES_TOGETHER and any(map(_rests, groups[-2])):
        last = groups.pop()
        groups[-1] += last
    yield from groups


class _Proportions:
    """How the phases that rest share the time of a node, according to the stretches."""

    def __init__(self, parts: Sequence[_Part], rested: frozenset[str]) -> None:
        self._totals = add_up([part.measured for part in parts])
        self._rested = rested
        measured = sum(part.measured_ns for part in parts)
        #: How often something was counted in a nanosecond of measured time.
        self.rates = {
            name: sum(part.window.counters.get(name, 0) for part in parts) / measured
            for name in schema.RESTED_COUNTERS
            if measured
        }
        self._of: dict[str, tuple[dict[str, PhaseDelta], int]] = {}

    def of(self, scope: str) -> tuple[dict[str, PhaseDelta], int]:
        """The node itself and all that rests below it, and the sum of their own times."""
        if scope not in self._of:
            nodes = {p: d for p, d in self._totals.items() if self._belongs(p, scope)}
            self._of[scope] = nodes, sum(delta.self_ns for delta in nodes.values())
        return self._of[scope]

    def _belongs(self, path: str, scope: str) -> bool:
        if path == scope:
            return True
        if path.startswith("@thread-") or (scope and not path.startswith(scope + "/")):
            return False
        below = path[len(scope) + 1 :] if scope else path
        return all(name in self._rested for name in below.split("/"))

    def scale(self, scope: str, ns: int) -> float:
        """By how much what was measured of a scope grows when it also takes that time."""
        _, measured = self.of(scope)
        return 1 + ns / measured if measured else 1.0


@dataclass
class _Part:
    """One window: what was measured in stretches, and the time to be shared out."""

    window: Window
    rested: frozenset[str]
    known: dict[str, PhaseDelta]
    loop_end_ns: int
    measured: Window = field(init=False)
    #: Node -> time that it and all that rests below it spent between stretches.
    between: dict[str, int] = field(default_factory=dict)
    stretches: int = 0

    def __post_init__(self) -> None:
        self.measured = _measured(self.window)
        self._kept: list[tuple[str, str, PhaseDelta]] = []
        for path, delta in self.window.phases.items():
            below = _below_rest(path)
            if below is not None:
                self._take(*below, delta)

    @property
    def measured_ns(self) -> int:
        return sum(
            delta.self_ns
            for path, delta in self.measured.phases.items()
            if not path.startswith("@thread-")
        )

    @property
    def is_sample(self) -> bool:
        """Whether only stretches of it were measured, not all of it."""
        return self.window.gauges.get(schema.STRETCHES, 0) > 0

    @property
    def _inside(self) -> float:
        """How much of the window is in the loop: hooks may still rest when it has ended."""
        length = max(self.window.end_ns - self.window.begin_ns, 1)
        return min(max((self.loop_end_ns - self.window.begin_ns) / length, 0.0), 1.0)

    def _take(self, parent: str, names: list[str], delta: PhaseDelta) -> None:
        kept = list(takewhile(lambda name: name not in self.rested, names))
        node = self._node(parent, kept)
        self.between[node] = self.between.get(node, 0) + delta.self_ns
        if not names:
            self.stretches += delta.calls
        elif len(kept) == len(names):
            self._kept.append((parent, node, delta))

    def _node(self, parent: str, names: list[str]) -> str:
        """Where a phase that did not rest belongs: phases around it may have rested."""
        if not names:
            return parent
        own = "/".join(names)
        start = parent + "/" if parent else ""
        found = [
            path
            for path in self.known
            if path.startswith(start) and (path == start + own or path.endswith("/" + own))
        ]
        return max(found, key=lambda path: self.known[path].elapsed_ns, default=start + own)

    def filled(self, proportions: _Proportions) -> Window:
        """The window with the time between stretches in its phases."""
        phases = {path: _copy(delta) for path, delta in self.measured.phases.items()}
        for parent, node, delta in self._kept:
            _add(phases, node, replace(delta, self_ns=0))
            for above in _between(parent, node):
                _add(phases, above, PhaseDelta(elapsed_ns=delta.elapsed_ns))
        for scope, ns in self.between.items():
            inside = round(ns * self._inside)
            _share_out(phases, scope, inside, proportions)
            _add(phases, scope, PhaseDelta(self_ns=ns - inside))
        return replace(
            self.measured,
            phases=phases,
            counters=self._counters(proportions.rates),
            samples=self._samples(proportions),
        )

    def _counters(self, rates: dict[str, float]) -> dict[str, float]:
        counters = dict(self.window.counters)
        rested = sum(self.between.values()) * self._inside
        for name, rate in rates.items():
            if rate and rested:
                counters[name] = counters.get(name, 0) + rate * rested
        return counters

    def _samples(self, proportions: _Proportions) -> Samples:
        """Samples between stretches have no phase; those of stretches stand for them too."""
        found: Samples = {}
        for (path, stack, mode), (count, ns) in self.window.samples.items():
            below = _below_rest(path)
            if below is None:
                found[path, stack, mode] = [count, round(ns * self._scale(path, proportions))]
            elif below[1] and not self.rested.intersection(below[1]):
                found[self._node(*below), stack, mode] = [count, ns]
        return found

    def _scale(self, path: str, proportions: _Proportions) -> float:
        return max(
            (
                proportions.scale(scope, ns)
                for scope, ns in self.between.items()
                if path in proportions.of(scope)[0]
            ),
            default=1.0,
        )


def _share_out(
    phases: dict[str, PhaseDelta], scope: str, ns: int, proportions: _Proportions
) -> None:
    nodes, measured = proportions.of(scope)
    left = ns
    for path, found in nodes.items():
        own = ns * found.self_ns // measured if measured else 0
        calls = 0.0 if path == scope or not measured else found.calls * ns / measured
        left -= own
        _add(phases, path, PhaseDelta(self_ns=own, estimated_calls=calls))
        if path != scope:
            for node in (*_between(scope, path), path):
                _add(phases, node, PhaseDelta(elapsed_ns=own))
    _add(phases, scope, PhaseDelta(self_ns=left))


def _copy(delta: PhaseDelta) -> PhaseDelta:
    copied = PhaseDelta()
    copied.add(delta)
    return copied


def _add(phases: dict[str, PhaseDelta], path: str, delta: PhaseDelta) -> None:
    phases.setdefault(path, PhaseDelta()).add(delta)


def _between(outer: str, inner: str) -> Iterator[str]:
    """The paths strictly between two nodes of one branch."""
    path = inner.rpartition("/")[0]
    while len(path) > len(outer):
        yield path
        path = path.rpartition("/")[0]


# -- sampling error --


@dataclass
class _Unit:
    """What one stretch (or a few, in a merged window) measured."""

    elapsed: dict[str, int]
    measured_ns: int
    rested_ns: int


def _units(parts: Sequence[_Part]) -> Iterator[_Unit]:
    unit, stretches = _Unit({}, 0, 0), 0
    for part in parts:
        for path, delta in part.measured.phases.items():
            unit.elapsed[path] = unit.elapsed.get(path, 0) + delta.elapsed_ns
        unit.measured_ns += part.measured_ns
        unit.rested_ns += sum(part.between.values())
        stretches += part.stretches
        if stretches and unit.measured_ns:
            yield unit
            unit, stretches = _Unit({}, 0, 0), 0
    if unit.rested_ns:
        yield unit


def _errors(units: Sequence[_Unit]) -> dict[str, float]:
    """Standard error of each node's time between stretches, in seconds; none of fewer than two."""
    measured = sum(unit.measured_ns for unit in units)
    if len(units) < 2 or not measured:
        return {}
    rested_s = sum(unit.rested_ns for unit in units) / 1e9
    errors: dict[str, float] = {}
    for path in {path for unit in units for path in unit.elapsed}:
        share = sum(unit.elapsed.get(path, 0) for unit in units) / measured
        squares = sum((u.elapsed.get(path, 0) - share * u.measured_ns) ** 2 for u in units)
        error = (squares * len(units) / (len(units) - 1)) ** 0.5 / measured
        errors[path] = error * rested_s
    return errors
