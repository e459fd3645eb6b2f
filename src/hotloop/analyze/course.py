"""A run as it went: its windows as points in time, and what stands out along the way.

Points keep the order of time over start-up, loop and what follows. `per_step` says what an
environment step cost as the run went on, over equal numbers of steps; `warm_up` how long that took
to settle; `events` when the run was not training. Nothing here knows how they will be drawn.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import fmean

from hotloop.analyze.flame import NO_PHASE
from hotloop.analyze.model import Analysis
from hotloop.analyze.timeline import split_timeline
from hotloop.analyze.tree import RegionCost, add_up, correct
from hotloop.capture.reader import Shard
from hotloop.capture.window import Window
from hotloop.words import ENV_STEPS, names_of

#: More points than this cannot be told apart on a screen.
MOST_POINTS = 240
#: Parts of equal numbers of steps: each still holds many windows, and a trend needs no more.
MOST_PARTS = 60
#: What interrupts training, as marks on the time line.
INTERRUPTIONS = ("evaluate", "checkpoint", "compile")
MOST_EVENTS = 300
#: Interruptions that are closer than this are one: an evaluation is many short games.
ONE_EVENT_S = 0.1

STARTUP, LOOP, AFTER = "startup", "loop", "after"


@dataclass
class Point:
    """A stretch of time: what each phase took of its own, and the state at its end."""

    begin_s: float
    end_s: float
    part: str
    #: Phase -> its own seconds, in all places where it is; "" is time in no phase.
    own: dict[str, float] = field(default_factory=dict)
    counters: dict[str, float] = field(default_factory=dict)
    cpu_s: float = 0.0
    memory_mb: float | None = None
    memory_peak_mb: float | None = None
    gpu_memory_mb: float | None = None
    gpu_busy_s: float | None = None

    @property
    def seconds(self) -> float:
        return self.end_s - self.begin_s

    @property
    def steps(self) -> float:
        return self.counters.get(ENV_STEPS, 0.0)

    @property
    def steps_per_s(self) -> float:
        return self.steps / self.seconds if self.seconds > 0 else 0.0

    @property
    def step_s(self) -> float | None:
        """Time for each environment step; None without any."""
        return self.seconds / self.steps if self.steps > 0 else None

    @property
    def cores(self) -> float:
        """Processor time over time: how many cores were busy."""
        return self.cpu_s / self.seconds if self.seconds > 0 else 0.0

    @property
    def gpu_busy(self) -> float | None:
        if self.gpu_busy_s is None or self.seconds <= 0:
            return None
        return min(self.gpu_busy_s / self.seconds, 1.0)

    def add(self, later: Point) -> None:
        """Take in the point that follows."""
        self.end_s = later.end_s
        _add(self.own, later.own)
        _add(self.counters, later.counters)
        self.cpu_s += later.cpu_s
        self.memory_mb = later.memory_mb if later.memory_mb is not None else self.memory_mb
        self.memory_peak_mb = _larger(self.memory_peak_mb, later.memory_peak_mb)
        self.gpu_memory_mb = _larger(self.gpu_memory_mb, later.gpu_memory_mb)
        if later.gpu_busy_s is not None:
            self.gpu_busy_s = (self.gpu_busy_s or 0.0) + later.gpu_busy_s

    def copy(self) -> Point:
        other = Point(self.begin_s, self.begin_s, self.part)
        other.add(self)
        return other


@dataclass(frozen=True)
class Event:
    """A time at which the run was not training, or what it stopped for."""

    name: str
    begin_s: float
    end_s: float
    seconds: float
    calls: int


def points(shard: Shard, cost: RegionCost, most: int = MOST_POINTS) -> list[Point]:
    """A process's run, in at most about so many points; parts of the run are never mixed."""
    timeline = split_timeline(shard.windows)
    found: list[Point] = []
    for part, windows in (
        (STARTUP, timeline.startup),
        (LOOP, timeline.loop),
        (AFTER, timeline.after),
    ):
        found += [_point(window, part, cost) for window in windows if window.seconds > 0]
    if not found:
        return []
    return _fewer(found, (found[-1].end_s - found[0].begin_s) / most)


def cost_of(analysis: Analysis) -> RegionCost:
    """What a region cost the main process, as its header says."""
    cost = analysis.run.header.get("cost")
    inside = cost.get("inside_ns") if isinstance(cost, dict) else None
    if not isinstance(inside, (int, float)) or not analysis.overhead.corrected:
        return RegionCost()
    inside = min(max(float(inside), 0.0), analysis.overhead.region_ns)
    return RegionCost(inside, analysis.overhead.region_ns - inside)


def per_step(run: list[Point], iterations: float = 0.0) -> list[Point]:
    """The loop in parts of about equal numbers of environment steps, each with some.

    An algorithm that collects and learns in turns has windows with steps and no learning and the
    other way round. `iterations` says how often it turned: no part may hold fewer than two.
    """
    loop = [point for point in run if point.part == LOOP]
    steps = sum(point.steps for point in loop)
    most = min(MOST_PARTS, max(len(loop) // 3, 1))
    if iterations:
        most = min(most, int(iterations / 2))
    if steps <= 0:
        return []
    enough = steps / max(most, 1)
    parts: list[Point] = []
    for point in loop:
        if parts and parts[-1].steps < enough:
            parts[-1].add(point)
        else:
            parts.append(point.copy())
    if len(parts) > 1 and parts[-1].steps < enough / 2:
        last = parts.pop()
        parts[-1].add(last)
    return parts


#: The name of what is left when the largest phases are told apart.
OTHER_PHASES = "other phases"


def bands(run: list[Point], known: dict[str, str], most: int) -> dict[str, list[float]]:
    """Own seconds at each point of the phases that take the most, of the rest, and in no phase.

    `known` are phases and their categories; phases of one category stand together.
    """
    totals: dict[str, float] = {}
    for point in run:
        _add(totals, point.own)
    largest = sorted((n for n in totals if n in known), key=lambda n: -totals[n])[:most]
    order = list(known.values())
    largest.sort(key=lambda name: order.index(known[name]))
    found = {name: [point.own.get(name, 0.0) for point in run] for name in largest}
    found[OTHER_PHASES] = [
        sum(seconds for name, seconds in point.own.items() if name and name not in found)
        for point in run
    ]
    found[NO_PHASE] = [point.own.get("", 0.0) for point in run]
    return found


def per_step_bands(parts: list[Point], names: list[str]) -> dict[str, list[float]]:
    """Seconds for each environment step of these bands, as `bands` named them."""
    rest = {name for name in names if name not in (OTHER_PHASES, NO_PHASE)}
    found: dict[str, list[float]] = {name: [] for name in names}
    for point in parts:
        for name in names:
            if name == OTHER_PHASES:
                own = sum(s for each, s in point.own.items() if each and each not in rest)
            else:
                own = point.own.get("" if name == NO_PHASE else name, 0.0)
            found[name].append(own / point.steps if point.steps > 0 else 0.0)
    return found


#: A start that differs by less from what follows is not worth a mark.
NOTABLE_WARM_UP = 0.10
#: Too few parts to tell a start from a swing.
FEWEST_PARTS = 8


def warm_up(parts: list[Point]) -> float | None:
    """Until when, in seconds, a step's cost had not settled; None if it was steady from the start.

    MSER (White 1997, "An effective truncation heuristic for bias reduction in simulation output"):
    cut where the standard error of what is left is smallest, in the first half.
    """
    costs = [point.seconds / point.steps for point in parts if point.steps > 0]
    if len(costs) < FEWEST_PARTS or len(costs) != len(parts):
        return None
    cut = min(range(len(costs) // 2 + 1), key=lambda first: _squared_error(costs[first:]))
    if cut == 0:
        return None
    before, after = fmean(costs[:cut]), fmean(costs[cut:])
    return parts[cut - 1].end_s if before > after * (1 + NOTABLE_WARM_UP) else None


def _squared_error(costs: list[float]) -> float:
    mean = fmean(costs)
    return sum((cost - mean) ** 2 for cost in costs) / len(costs) ** 2


def events(windows: Iterable[Window]) -> list[Event]:
    """Evaluations, checkpoints and compilations; one that spans windows is one event."""
    found: list[Event] = []
    last: dict[str, int] = {}
    for window in windows:
        for name, (begin, end, seconds, calls) in _interruptions(window).items():
            known = found[last[name]] if name in last else None
            if known is not None and begin <= known.end_s + ONE_EVENT_S:
                seconds, calls = known.seconds + seconds, known.calls + calls
                found[last[name]] = Event(name, known.begin_s, end, seconds, calls)
            else:
                last[name] = len(found)
                found.append(Event(name, begin, end, seconds, calls))
    if len(found) > MOST_EVENTS:
        found = sorted(found, key=lambda event: -event.seconds)[:MOST_EVENTS]
    return sorted(found, key=lambda event: event.begin_s)


def offset_s(shard: Shard, main: Shard) -> float:
    """What to add to a process's times to have them on the main process's clock."""
    here, there = shard.header, main.header
    same_host = here.get("host") == there.get("host")
    key, unit = ("origin_ns", 1e9) if same_host else ("started", 1.0)
    own, other = here.get(key), there.get(key)
    if isinstance(own, (int, float)) and isinstance(other, (int, float)):
        return (own - other) / unit
    return 0.0


def busy_shares(shard: Shard, begin_s: float, end_s: float, count: int) -> list[float | None]:
    """How much of each of `count` equal times a process was in phases other than waiting."""
    length = (end_s - begin_s) / count
    if length <= 0:
        return []
    busy, seen = [0.0] * count, [0.0] * count
    for window in shard.windows:
        busy_ns = sum(
            delta.self_ns
            for path, delta in window.phases.items()
            if path and not path.startswith("@thread") and path.rpartition("/")[2] != "wait"
        )
        first, last = window.begin_ns / 1e9 - begin_s, window.end_ns / 1e9 - begin_s
        for index in range(max(int(first / length), 0), min(int(last / length) + 1, count)):
            overlap = min(last, (index + 1) * length) - max(first, index * length)
            if overlap > 0:
                seen[index] += overlap
                busy[index] += busy_ns / 1e9 * overlap / window.seconds
    return [b / s if s > 0 else None for b, s in zip(busy, seen, strict=True)]


def _point(window: Window, part: str, cost: RegionCost) -> Point:
    gauges = window.gauges
    point = Point(window.begin_ns / 1e9, window.end_ns / 1e9, part, counters=dict(window.counters))
    for path, times in correct(add_up([window]), cost).items():
        if not path.startswith("@thread"):
            name = (names_of(path) or [""])[-1]
            point.own[name] = point.own.get(name, 0.0) + times.self_s
    point.cpu_s = gauges.get("process_cpu_ns", 0.0) / 1e9
    point.memory_mb = _megabytes(gauges.get("resident"))
    point.memory_peak_mb = _megabytes(gauges.get("resident_peak"))
    point.gpu_memory_mb = _megabytes(gauges.get("gpu_memory_peak", gauges.get("gpu_memory")))
    if "gpu_busy_ns" in gauges:
        point.gpu_busy_s = gauges["gpu_busy_ns"] / 1e9
    return point


def _fewer(found: list[Point], length_s: float) -> list[Point]:
    kept: list[Point] = []
    for point in found:
        last = kept[-1] if kept else None
        if last is not None and last.part == point.part and last.seconds < length_s * 0.99:
            last.add(point)
        else:
            kept.append(point)
    return kept


def _interruptions(window: Window) -> dict[str, tuple[float, float, float, int]]:
    """Name -> begin, end, seconds and calls of what interrupted training in a window."""
    found: dict[str, tuple[float, float, float, int]] = {}
    for path, delta in window.phases.items():
        name = path.rpartition("/")[2]
        if name not in INTERRUPTIONS or path.startswith("@thread") or delta.elapsed_ns <= 0:
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


def _megabytes(value: float | None) -> float | None:
    return value / 1e6 if value is not None else None


def _larger(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)


def _add(into: dict[str, float], other: dict[str, float]) -> None:
    for name, amount in other.items():
        into[name] = into.get(name, 0.0) + amount
