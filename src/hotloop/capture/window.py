"""A window: all that changed in one process over about a second, and how two become one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hotloop.capture.device import DeviceDelta
from hotloop.histogram import added


@dataclass(slots=True)  # a long run has millions of them
class PhaseDelta:
    """What happened at one place of the region tree during a window."""

    calls: int = 0
    self_ns: int = 0
    elapsed_ns: int = 0
    min_ns: int = 0
    max_ns: int = 0
    resident_peak: int = 0
    first_ns: int = 0
    last_ns: int = 0
    histogram: Mapping[int, int] = field(default_factory=dict)

    def add(self, other: PhaseDelta) -> None:
        """Take in what happened later (or elsewhere) at the same place."""
        if other.calls and (other.min_ns < self.min_ns or not self.calls):
            self.min_ns = other.min_ns
        self.calls += other.calls
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


#: (path, stack, mode) -> [how often seen, nanoseconds that this stands for]
Samples = dict[tuple[str, int, int], list[int]]

#: Gauges that keep their largest value when windows merge; the others keep the last.
PEAK_SUFFIX = "_peak"
#: Gauges that keep their least.
LOW_SUFFIX = "_low"
#: Gauges that are amounts of this window, and add up.
SUM_SUFFIX = "_ns"


@dataclass
class Window:
    """The change of every phase, counter and sample table between two moments.

    `first` and `last` number the windows as they were closed, so that a reader who finds a window
    both on its own and merged into a longer one counts it once. Times are nanoseconds since the
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
    #: What each place had a device do, where that was recorded.
    device: dict[str, DeviceDelta] = field(default_factory=dict)
    #: The same of calls of which only a part was recorded.
    device_parts: dict[str, DeviceDelta] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.begin_ns) / 1e9

    def add(self, other: Window) -> None:
        """Take in the window that follows this one."""
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
        for name, value in other.gauges.items():
            if name.endswith(PEAK_SUFFIX):
                value = max(value, self.gauges.get(name, value))
            elif name.endswith(LOW_SUFFIX):
                value = min(value, self.gauges.get(name, value))
            elif name.endswith(SUM_SUFFIX):
                value += self.gauges.get(name, 0)
            self.gauges[name] = value


def add_device(into: dict[str, DeviceDelta], other: dict[str, DeviceDelta]) -> None:
    """Add what places had a device do."""
    for path, delta in other.items():
        into.setdefault(path, DeviceDelta()).add(delta)


def merged(windows: Iterable[Window]) -> Window | None:
    """One window that says what all of these say, in their order; None of none."""
    total: Window | None = None
    for window in windows:
        total = total or nothing_before(window)
        total.add(window)
    return total


def nothing_before(window: Window) -> Window:
    """An empty window that ends where this one begins, to take it in and those that follow."""
    return Window(window.first, window.first - 1, window.begin_ns, window.begin_ns)


def largest_samples(samples: Samples, most: int) -> Samples:
    """The samples that stand for the most time; the rest of each phase as one without a stack."""
    if len(samples) <= most:
        return samples
    ordered = sorted(samples.items(), key=lambda item: -item[1][1])
    kept = dict(ordered[:most])
    for (path, _, mode), (count, ns) in ordered[most:]:
        entry = kept.setdefault((path, 0, mode), [0, 0])
        entry[0] += count
        entry[1] += ns
    return kept
