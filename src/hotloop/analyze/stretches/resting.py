"""Scales measurements in stretches to the whole loop.

Between two stretches (`native/stretches.c`), time belongs to `(rest)`, a node below whatever was
open; phases that do not rest were measured inside it. The rest of that time, the own times of
`(rest)` and of these phases, is distributed over the resting phases in the proportions measured in
the stretches around it. The sums of a window do not change, and everything that reads windows sees
them as if every call had been measured. Samples are not scaled: those between stretches get the
phases of their stacks (`resting_samples`).

Proportions come from many stretches together, because an update may occur in only one stretch of
twenty. Samples between stretches estimate the same proportions, less exactly for short phases and
more exactly for long iterations, so the two are weighted by their errors (`resting_error`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile

from hotloop.analyze.correction import add_up
from hotloop.analyze.stretches.resting_error import FEWEST_UNITS, SharesError, Unit, effective_count
from hotloop.analyze.stretches.resting_samples import Parts, PhasesOfStacks, divide
from hotloop.capture import schema
from hotloop.capture.growing import Shard
from hotloop.capture.schema import Notes
from hotloop.capture.window import PhaseDelta, Samples, Window
from hotloop.phases import REST, is_of_thread, name_at

#: Stretches whose proportions are used together.
STRETCHES_TOGETHER = 64


def whole(shard: Shard) -> Shard:
    """The shard as if every call had been measured."""
    if not any(_rests(window) for window in shard.windows):
        return shard
    rested = frozenset(shard.notes.rested)
    known = add_up([_measured(window) for window in shard.windows if window.loop_last_ns])
    loop_end_ns = max(window.loop_last_ns for window in shard.windows)
    stacks = PhasesOfStacks(_measured_samples(shard.windows), shard.stacks)
    is_sample = _are_samples(shard.windows)
    groups = [
        [_Part(w, rested, known, loop_end_ns, next(is_sample), stacks) for w in group]
        for group in _groups(shard.windows)
    ]
    parts = [part for group in groups for part in group]
    units = [list(_units([part for part in group if part.is_sample])) for group in groups]
    seen = [weight for part in parts for weight in part.seen_weights]
    error = SharesError([unit for each in units for unit in each], effective_count(seen))
    windows: list[Window] = []
    full: list[_Part] = []
    for group, measured in zip(groups, units, strict=True):
        enough = len(measured) >= FEWEST_UNITS
        of = [part for part in group if part.is_sample] if enough else full + group
        proportions = _Proportions(of, group, rested, known, error.weight_of_samples)
        windows += [part.filled(proportions) for part in group]
        if group[0].window.loop_last_ns:
            full = group if any(part.between for part in group) else full + group
    rested_s = sum(sum(part.between.values()) for part in parts) / 1e9
    return replace(
        shard,
        windows=windows,
        errors_s={path: share * rested_s for path, share in error.of_shares.items()},
        rested_s=rested_s,
        notes=_scaled_notes(shard, windows),
    )


def _measured_samples(windows: Sequence[Window]) -> Iterator[Samples]:
    """Samples of the main thread that have a phase."""
    for window in windows:
        yield {
            key: found
            for key, found in window.samples.items()
            if window.loop_last_ns and not key[0].startswith("@") and _below_rest(key[0]) is None
        }


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


def _are_samples(windows: Sequence[Window]) -> Iterator[bool]:
    """Whether whole stretches of each window were measured, and nothing else.

    What is measured before the first rest ends with part of an iteration, which would weigh too
    much where iterations are long.
    """
    has_rested = False
    for window in windows:
        in_stretches = window.gauges.get(schema.STRETCHES, 0) > 0
        yield in_stretches and has_rested
        has_rested = in_stretches and (has_rested or _rests(window))


def _below_rest(path: str) -> tuple[str, list[str]] | None:
    """(open path, names below the rest); None for nodes measured in a stretch."""
    if REST not in path:
        return None
    names = path.split("/")
    if REST not in names:
        return None
    at = names.index(REST)
    return "/".join(names[:at]), names[at + 1 :]


def _measured(window: Window) -> Window:
    """The window without the time between stretches."""
    return replace(
        window,
        phases={p: d for p, d in window.phases.items() if _below_rest(p) is None},
    )


def _rests_in(path: str, scope: str, rested: frozenset[str]) -> bool:
    """Whether a node is this one, or one inside it that is not measured while hooks rest."""
    if path == scope:
        return True
    if is_of_thread(path) or (scope and not path.startswith(scope + "/")):
        return False
    below = path[len(scope) + 1 :] if scope else path
    return all(name in rested for name in below.split("/"))


def _groups(windows: Sequence[Window]) -> Iterator[list[Window]]:
    """Windows whose stretches are used together; before the first rest, each by itself."""
    groups: list[list[Window]] = []
    stretches = STRETCHES_TOGETHER
    for window in windows:
        rests = sum(d.calls for p, d in window.phases.items() if name_at(p) == REST)
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
    """How the phases that rest share the time of a node, according to stretches and samples.

    Where stretches are few, what was measured in full before them is used as well. A node that none
    of it measured (an evaluation) has the proportions of all that are known.
    """

    def __init__(
        self,
        measured: Sequence[_Part],
        group: Sequence[_Part],
        rested: frozenset[str],
        known: dict[str, PhaseDelta],
        weight: float,
    ) -> None:
        self._totals = add_up([part.measured for part in measured])
        self._group = group
        self._known = known
        self._rested = rested
        self._weight = weight
        measured_ns = sum(part.measured_ns for part in measured)
        #: How often something was counted in a nanosecond of measured time.
        self.rates = {
            name: sum(part.window.counters.get(name, 0) for part in measured) / measured_ns
            for name in schema.RESTED_COUNTERS
            if measured_ns
        }
        self._of: dict[str, dict[str, tuple[float, float]]] = {}

    def of(self, scope: str) -> dict[str, tuple[float, float]]:
        """The node itself and all that rests below it: share of the time, and calls per second."""
        if scope not in self._of:
            self._of[scope] = self._find(scope)
        return self._of[scope]

    def _find(self, scope: str) -> dict[str, tuple[float, float]]:
        totals = self._known if scope and scope not in self._totals else self._totals
        nodes = {p: d for p, d in totals.items() if _rests_in(p, scope, self._rested)}
        measured_s = sum(delta.self_ns for delta in nodes.values()) / 1e9
        if not measured_s:
            return {}
        shares = {path: delta.self_ns / 1e9 / measured_s for path, delta in nodes.items()}
        calls = {path: delta.calls / measured_s for path, delta in nodes.items()}
        seen = self._seen(scope)
        if (whole := sum(seen.values())) and self._weight:
            shares = {path: share * (1 - self._weight) for path, share in shares.items()}
            for path, ns in seen.items():
                share = self._weight * ns / whole
                shares[path] = shares.get(path, 0.0) + share
                calls.setdefault(path, share * self._calls_per_s(path))
        return {path: (share, calls[path]) for path, share in shares.items()}

    def _seen(self, scope: str) -> dict[str, int]:
        seen: dict[str, int] = {}
        for part in self._group:
            for path, ns in part.seen.get(scope, {}).items():
                seen[path] = seen.get(path, 0) + ns
        return seen

    def _calls_per_s(self, path: str) -> float:
        """Calls of a phase per second of its own time, over the whole run."""
        found = self._known.get(path)
        return found.calls / found.self_ns * 1e9 if found and found.self_ns else 0.0


@dataclass
class _Part:
    """One window: measurements in stretches, and the time to be distributed."""

    window: Window
    rested: frozenset[str]
    known: dict[str, PhaseDelta]
    loop_end_ns: int
    is_sample: bool
    stacks: PhasesOfStacks
    measured: Window = field(init=False)
    #: Node -> time that it and all that rests below it spent between stretches.
    between: dict[str, int] = field(default_factory=dict)
    stretches: int = 0
    #: Node -> phases in which samples between stretches saw it, and for how long.
    seen: dict[str, dict[str, int]] = field(default_factory=dict)
    #: (samples, the time that they represent) of each stack that was seen between stretches.
    seen_weights: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.measured = _measured(self.window)
        self._kept: list[tuple[str, str, PhaseDelta]] = []
        for path, delta in self.window.phases.items():
            below = _below_rest(path)
            if below is not None:
                self._take(*below, delta)
        self._samples = self._find_phases() if self.between else self.window.samples

    @property
    def measured_ns(self) -> int:
        return sum(
            delta.self_ns for path, delta in self.measured.phases.items() if not is_of_thread(path)
        )

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
        """The node of a phase that did not rest; phases around it may have rested."""
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
            if inside:
                _share_out(phases, scope, inside, proportions)
            _add(phases, scope, PhaseDelta(self_ns=ns - inside))
        return replace(
            self.measured,
            phases=phases,
            counters=self._counters(proportions.rates),
            samples=self._samples,
        )

    def _counters(self, rates: dict[str, float]) -> dict[str, float]:
        counters = dict(self.window.counters)
        rested = sum(self.between.values()) * self._inside
        for name, rate in rates.items():
            if rate and rested:
                counters[name] = counters.get(name, 0) + rate * rested
        return counters

    def _find_phases(self) -> Samples:
        """Samples with the phases of their stacks in place of the rest."""
        found: Samples = {}
        for (path, stack, mode), (count, ns) in self.window.samples.items():
            below = _below_rest(path)
            parts = [(path, 1.0)] if below is None else self._see(*below, stack, count, ns)
            for each, samples, time in divide(parts, count, ns):
                entry = found.setdefault((each, stack, mode), [0, 0])
                entry[0] += samples
                entry[1] += time
        return found

    def _see(self, parent: str, names: list[str], stack: int, count: int, ns: int) -> Parts:
        kept = list(takewhile(lambda name: name not in self.rested, names))
        node = self._node(parent, kept)
        fits = partial(_rests_in, scope=node, rested=self.rested)
        parts = self.stacks.of(stack, fits) or [(node, 1.0)]
        seen = self.seen.setdefault(node, {})
        for path, _, time in divide(parts, count, ns):
            seen[path] = seen.get(path, 0) + time
        self.seen_weights.append((count, ns))
        return parts


def _share_out(
    phases: dict[str, PhaseDelta], scope: str, ns: int, proportions: _Proportions
) -> None:
    left = ns
    for path, (share, calls_per_s) in proportions.of(scope).items():
        own = int(ns * share)
        calls = 0.0 if path == scope else calls_per_s * ns / 1e9
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


def _units(parts: Sequence[_Part]) -> Iterator[Unit]:
    unit, stretches = Unit({}, 0), 0
    for part in parts:
        for path, delta in part.measured.phases.items():
            unit.elapsed[path] = unit.elapsed.get(path, 0) + delta.elapsed_ns
        unit.measured_ns += part.measured_ns
        stretches += part.stretches
        if stretches and unit.measured_ns:
            yield unit
            unit, stretches = Unit({}, 0), 0
    if unit.measured_ns:
        yield unit
