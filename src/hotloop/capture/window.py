"""A window: what changed in one process over about a second, and how two merge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hotloop.capture import schema
from hotloop.capture.device_delta import DeviceDelta
from hotloop.capture.episodes import EpisodeDelta, add_episodes
from hotloop.histogram import added


@dataclass(slots=True)  # a long run has millions of them
class PhaseDelta:
    """The change of one node of the region tree during a window."""

    calls: int = 0
    self_ns: int = 0
    elapsed_ns: int = 0
    min_ns: int = 0
    max_ns: int = 0
    resident_peak: int = 0
    first_ns: int = 0
    last_ns: int = 0
    histogram: Mapping[int, int] = field(default_factory=dict)
    #: Calls that were not measured, as a reader estimates them (`analyze.stretches.resting`).
    estimated_calls: float = 0.0

    def add(self, other: PhaseDelta) -> None:
        """Add what happened at the same node later, or in another process."""
        if other.calls and (other.min_ns < self.min_ns or not self.calls):
            self.min_ns = other.min_ns
        self.calls += other.calls
        self.estimated_calls += other.estimated_calls
        self.self_ns += other.self_ns
        self.elapsed_ns += other.elapsed_ns
        if other.max_ns > self.max_ns:
            self.max_ns = other.max_ns
        if other.resident_peak > self.resident_peak:
            self.resident_peak = other.resident_peak
        if other.first_ns and (other.first_ns < self.first_ns or not self.first_ns):
            self.first_ns = other.first_ns
        if other.last_ns > self.last_ns:
            self.last_ns = other.last_ns
        self.histogram = added(self.histogram, other.histogram)


#: (path, stack, mode) -> [number of samples, nanoseconds that they represent]
Samples = dict[tuple[str, int, int], list[int]]


@dataclass
class Window:
    """The change of every phase, counter and sample table between two moments.

    `first` and `last` number the windows as they were closed: a window that is found both on its
    own and merged into a longer one counts once. Times are nanoseconds since the
    shard's clock origin.
    """

    first: int
    last: int
    begin_ns: int
    end_ns: int
    phases: dict[str, PhaseDelta] = field(default_factory=dict)
    counters: dict[str, float] = field(default_factory=dict)
    samples: Samples = field(default_factory=dict)
    gauges: dict[str, float] = field(default_factory=dict)
    loop_last_ns: int = 0
    #: Device work of each node, where that was recorded.
    device: dict[str, DeviceDelta] = field(default_factory=dict)
    #: The same for calls of which only a part was recorded.
    device_parts: dict[str, DeviceDelta] = field(default_factory=dict)
    #: Episodes that ended, by kind (`episodes.KINDS`).
    episodes: dict[str, EpisodeDelta] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.begin_ns) / 1e9

    def add(self, other: Window) -> None:
        """Extend this window by the one that follows."""
        self.last = other.last
        self.end_ns = max(self.end_ns, other.end_ns)
        self.loop_last_ns = max(self.loop_last_ns, other.loop_last_ns)
        for path, delta in other.phases.items():
            known = self.phases.get(path)
            if known is None:
                known = self.phases[path] = PhaseDelta()
            known.add(delta)
        for name, amount in other.counters.items():
            self.counters[name] = self.counters.get(name, 0) + amount
        for key, (count, ns) in other.samples.items():
            entry = self.samples.get(key)
            if entry is None:
                self.samples[key] = [count, ns]
            else:
                entry[0] += count
                entry[1] += ns
        add_device(self.device, other.device)
        add_device(self.device_parts, other.device_parts)
        add_episodes(self.episodes, other.episodes)
        merge_gauges(self.gauges, other.gauges)


def same_part(one: Window, other: Window) -> bool:
    """Whether both are of the same part of the run: before, in or after the training loop."""
    return _part(one) == _part(other)


def _part(window: Window) -> int:
    return (window.loop_last_ns > 0) + (window.loop_last_ns > window.begin_ns)


def merge_gauges(earlier: dict[str, float], later: Mapping[str, float]) -> None:
    """Add the gauges of the window that follows, each by its declared rule."""
    for name, value in later.items():
        known = earlier.get(name)
        earlier[name] = value if known is None else schema.merge_gauge(name, known, value)


def add_device(into: dict[str, DeviceDelta], other: dict[str, DeviceDelta]) -> None:
    """Add the device work of nodes."""
    for path, delta in other.items():
        into.setdefault(path, DeviceDelta()).add(delta)


def merged(windows: Iterable[Window]) -> Window | None:
    """Consecutive windows as one; None without any."""
    total: Window | None = None
    for window in windows:
        total = total or nothing_before(window)
        total.add(window)
    return total


def nothing_before(window: Window) -> Window:
    """An empty window that ends where this one begins."""
    return Window(window.first, window.first - 1, window.begin_ns, window.begin_ns)


def thinned_samples(samples: Samples, most: int, seed: int) -> Samples:
    """About `most` of the stacks, with the time of all; the times of phases and modes stay exact.

    Half of them are those with the most time. The others are drawn in proportion to their time and
    stand for those that were not, so that rare stacks, of which there are many, have on average the
    time that they took: what only rare stacks have in common is not lost. A phase of which none is
    drawn keeps its time without a stack.
    """
    if len(samples) <= most:
        return samples
    ordered = sorted(samples.items(), key=lambda item: -item[1][1])
    kept = dict(ordered[: most // 2])
    groups: dict[tuple[str, int], list[tuple[int, list[int]]]] = {}
    for (path, stack, mode), found in ordered[most // 2 :]:
        groups.setdefault((path, mode), []).append((stack, found))
    step = max(sum(ns for _, (_, ns) in ordered[most // 2 :]) / (most - most // 2), 1)
    # Knuth's multiplicative hash: random numbers of the program's own are not touched.
    at = step * (seed * 2654435761 % 2**32) / 2**32
    passed = 0.0
    for (path, mode), rows in groups.items():
        drawn: list[int] = []
        for stack, (_, ns) in rows:
            passed += ns
            while at < passed:
                drawn.append(stack)
                at += step
        count, whole = (sum(found[i] for _, found in rows) for i in (0, 1))
        for i, stack in enumerate(drawn or [0]):
            entry = kept.setdefault((path, stack, mode), [0, 0])
            entry[0] += _part_of(count, i, len(drawn))
            entry[1] += _part_of(whole, i, len(drawn))
    return kept


def _part_of(whole: int, i: int, parts: int) -> int:
    """One of that many parts; together they are the whole."""
    return whole * (i + 1) // parts - whole * i // parts if parts else whole
