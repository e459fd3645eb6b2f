"""The loop across processes, with waiting replaced by the work of the processes it waited for.

A training process may spend its loop waiting for environment runners, loader workers or other
ranks. The windows of all processes are put on one clock. Within each window of the loop, waiting is
filled with the work of the awaited processes, group by group (processes of one kind work side by
side). If the busiest of a group worked longer than the group's mean, the difference is waiting for
the slowest. Time in which no awaited process worked passed between processes: messages, scheduling.
If the wait was not for a process, it was for other threads of the same one (`awaited_threads`).

The rows add up to the loop.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from hotloop.analyze.model import Function, Phase, RunRow, of_main_thread
from hotloop.analyze.processes.awaited_threads import THREAD, within, work_of_threads
from hotloop.analyze.processes.process_groups import group_of
from hotloop.analyze.processes.training import LAUNCHER
from hotloop.analyze.samples.functions import is_program_file, unfold
from hotloop.analyze.samples.states import BLOCKED
from hotloop.analyze.timeline import offset_s
from hotloop.capture.reader import Capture, Shard
from hotloop.capture.window import Window
from hotloop.phases import NO_PHASE_LABEL, is_of_thread, name_at, names_of

#: How the time of a row was spent.
COMPUTING, MOVING, COMMUNICATION = "computing", "moving data", "communication"
SLOWEST, BETWEEN, WAITING = "waiting for the slowest", "between processes", "waiting"
UNEXPLAINED = "unexplained"

#: Phases in which a process waits for others.
WAITS = frozenset({"wait", "data.wait"})
_KINDS = {
    "transfer": MOVING,
    "sync.weights": COMMUNICATION,
    "comm": COMMUNICATION,
    "comm.submit": COMMUNICATION,
}

#: The name of a row of these; no phase has this name.
_NAMES = {SLOWEST: "(waiting for the slowest)", BETWEEN: "(messages, scheduling)"}

_MAIN = "main"

#: (group of processes, phase) -> seconds
Work = dict[tuple[str, str], float]


@dataclass
class ProcessWork:
    """The work of one process in each window of the loop."""

    group: str
    phases: frozenset[str]
    busy: list[Work]
    waits: list[float]
    #: Seconds of each window in which the process existed.
    present: list[float] = field(default_factory=list)

    def comm(self, window: int) -> float:
        return sum(s for (_, name), s in self.busy[window].items() if name == "comm")


def run_table(
    capture: Capture, loop: list[Window], phases: list[Phase], loop_s: float
) -> list[RunRow]:
    """The rows, the largest first; none for a run of one process and one thread."""
    others = _Others(capture, loop)
    if loop_s <= 0 or not (others.processes or others.threads_ran):
        return []
    rows: Work = defaultdict(float)
    for phase in of_main_thread(phases):
        seconds = phase.loop_self_s
        if phase.name in WAITS:
            _add(rows, others.fill(phase.path, seconds))
        elif phase.name == "comm":
            _add(rows, others.compare(phase.path, seconds))
        else:
            rows[_MAIN, phase.name] += seconds
    named = sum(rows.values())
    rows[_MAIN, NO_PHASE_LABEL] += max(loop_s - named, 0.0)
    scale = loop_s / max(named, loop_s)
    found = [_row(key, seconds * scale, loop_s, others) for key, seconds in rows.items() if seconds]
    return sorted(found, key=lambda row: -row.seconds)


def add_lines(rows: Iterable[RunRow], functions: Iterable[Function]) -> None:
    """Name the function that took the most time in each row's phase and processes."""
    most: dict[tuple[str, str], Function] = {}
    for function in functions:
        name = name_at(function.phase) or NO_PHASE_LABEL
        process = function.process
        key = (process if process in (_MAIN, THREAD) else group_of(process), name)
        if key not in most or function.self_s > most[key].self_s:
            most[key] = function
    for row in rows:
        function_or_none = most.get((row.process, row.name))
        if function_or_none is not None:
            found = function_or_none
            row.file, row.function = found.file, found.function
            row.line = found.hot_line or found.line
            if row.kind == UNEXPLAINED and row.process != _MAIN and found.of_program:
                row.inside = found.function


def _add(rows: Work, more: Mapping[tuple[str, str], float]) -> None:
    for key, seconds in more.items():
        rows[key] += seconds


def _row(key: tuple[str, str], seconds: float, loop_s: float, others: _Others) -> RunRow:
    group, name = key
    kind = _KINDS.get(name, COMPUTING)
    if name in (SLOWEST, BETWEEN):
        kind, name = name, _NAMES[name]
    elif name in WAITS:
        kind = WAITING
    elif name == NO_PHASE_LABEL:
        kind = UNEXPLAINED
    count = sum(each.group == group for each in others.processes.values())
    return RunRow(name, group, max(count, 1), kind, seconds, seconds / loop_s)


class _Others:
    """The processes besides the one that trains, and which of them are waited for."""

    def __init__(self, capture: Capture, loop: list[Window]) -> None:
        self._loop = loop
        main = capture.main
        self._idle = _Idle(main)
        beside = set(main.notes.trains_beside)
        shards = [shard for shard in capture.shards[1:] if shard.role != LAUNCHER]
        spans = [(window.begin_ns / 1e9, window.end_ns / 1e9) for window in loop]
        made = {id(s): _work_of(s, spans, offset_s(s, main)) for s in shards}
        self.processes = {key: each for key, each in made.items() if any(each.present)}
        self._peers = [self.processes[id(s)] for s in shards if self._is_one(s, beside)]
        children: dict[tuple[str, int], list[Shard]] = defaultdict(list)
        known = {(shard.header.host, shard.header.pid) for shard in shards}
        top: list[Shard] = []
        for shard in shards:
            parent = (shard.header.host, shard.header.parent or 0)
            if id(shard) not in self.processes or shard.role in beside:
                continue
            (children[parent] if parent in known else top).append(shard)
        self._threads = [work_of_threads(window) for window in loop]
        self._named = _large(main.notes.waited_for)
        self._top = [self._with_children(shard, children) for shard in top]

    @property
    def threads_ran(self) -> bool:
        """Whether the process that trains had other threads that did something."""
        return any(self._threads)

    def _is_one(self, shard: Shard, roles: set[str]) -> bool:
        return shard.role in roles and id(shard) in self.processes

    def _with_children(
        self, shard: Shard, children: Mapping[tuple[str, int], list[Shard]]
    ) -> ProcessWork:
        """A process whose waits are for its own children."""
        work = self.processes[id(shard)]
        below = children.get((shard.header.host, shard.header.pid), [])
        own = [self._with_children(child, children) for child in below]
        if own:
            for index, waited in enumerate(work.waits):
                _add(work.busy[index], _filled(waited, own, index, idle=False))
        return work

    def fill(self, path: str, seconds: float) -> Work:
        """The work done while the training process waited there."""
        waited_for = _waited_for(path, self._top, self._named)
        if not waited_for:
            return self._fill_with_threads(path, seconds)
        total: Work = defaultdict(float)
        for index, waited in self._in_windows(path, seconds):
            _add(total, _filled(waited, waited_for, index))
        return total

    def _fill_with_threads(self, path: str, seconds: float) -> Work:
        """The work of other threads in the meantime; a loader's workers are processes."""
        name = name_at(path)
        total: Work = defaultdict(float)
        if name == "wait":
            for index, waited in self._in_windows(path, seconds):
                _add(total, within(self._threads[index], waited))
        total[_MAIN, name] += max(seconds - sum(total.values()), 0.0)
        return total

    def compare(self, path: str, seconds: float) -> Work:
        """A collective takes as long as the rank that comes last: the others wait for it."""
        if not self._peers:
            return {(_MAIN, "comm"): seconds}
        total: Work = defaultdict(float)
        for index, spent in self._in_windows(path, seconds):
            own = _window_work(self._loop[index], _MAIN, self._idle)[0]
            slowest = min(self._peers, key=lambda peer: peer.comm(index))
            waiting = spent * max(1 - slowest.comm(index) / max(own[_MAIN, "comm"], 1e-9), 0.0)
            total[_MAIN, "comm"] += spent - waiting
            _add(total, _longer_in(slowest, own, index, waiting))
        return total

    def _in_windows(self, path: str, seconds: float) -> Iterator[tuple[int, float]]:
        """(window, seconds) of a phase's own time, which is `seconds` in all."""
        deltas = [window.phases.get(path) for window in self._loop]
        whole = sum(delta.self_ns for delta in deltas if delta is not None)
        for index, delta in enumerate(deltas):
            if delta is not None and whole:
                yield index, seconds * delta.self_ns / whole


def _longer_in(slowest: ProcessWork, own: Work, index: int, waiting: float) -> Work:
    """The phase in which the slowest rank spends longer than the one that waits, if known."""
    longer = {
        key: seconds - own.get((_MAIN, key[1]), 0.0)
        for key, seconds in slowest.busy[index].items()
        if key[1] != "comm" and seconds > own.get((_MAIN, key[1]), 0.0)
    }
    whole = sum(longer.values())
    if whole < _KNOWN * waiting:
        return {(slowest.group, SLOWEST): waiting}
    return {key: waiting * seconds / whole for key, seconds in longer.items()}


#: The part of a wait for another rank that this must have worked for longer, to be its reason.
_KNOWN = 0.5

#: Around a wait -> a phase that only those have who are waited for there.
_WAITED_FOR = (
    ("data.wait", "data.load"),
    ("env.", "env.step"),
    ("collect", "env.step"),
    ("learn", "learn.backward"),
)


#: Kinds of processes that were waited for less than this part of all waiting are left out.
_LARGE = 0.05


def _large(waited: Mapping[str, float]) -> set[str]:
    return {name for name, seconds in waited.items() if seconds >= _LARGE * sum(waited.values())}


def _waited_for(path: str, candidates: list[ProcessWork], named: set[str]) -> list[ProcessWork]:
    """The awaited processes: by the phase around the wait, else those that the process named."""
    names = names_of(path)
    for around, phase in _WAITED_FOR:
        if any(name.startswith(around) for name in names):
            found = [each for each in candidates if phase in each.phases]
            if found or around == "data.wait":
                return found
    found = [each for each in candidates if "data.load" not in each.phases]
    return [each for each in found if each.group in named] if named else found


def _filled(waited: float, processes: list[ProcessWork], index: int, idle: bool = True) -> Work:
    """The work that fills a wait in one window; `idle`: also time in which no process worked."""
    groups: dict[str, list[ProcessWork]] = defaultdict(list)
    for each in processes:
        if each.present[index]:
            groups[each.group].append(each)
    work: Work = defaultdict(float)
    for group, members in groups.items():
        busy = [min(sum(each.busy[index].values()), waited) for each in members]
        for each, seconds in zip(members, busy, strict=True):
            whole = sum(each.busy[index].values())
            for key, part in each.busy[index].items():
                work[key] += part / whole * seconds / len(members) if whole else 0.0
        work[group, SLOWEST] += max(busy) - sum(busy) / len(busy)
    filled = sum(work.values())
    if filled > waited:  # groups worked at the same time
        work = {key: seconds * waited / filled for key, seconds in work.items()}
    elif idle:
        work[_MAIN, BETWEEN] += waited - filled
    return work


def _work_of(shard: Shard, spans: list[tuple[float, float]], offset: float) -> ProcessWork:
    """The work of a process in each of these spans; time within a window is spread evenly."""
    count, group = len(spans), group_of(shard.role)
    made = ProcessWork(group, _phases_of(shard), [defaultdict(float) for _ in spans], [0.0] * count)
    made.present = [0.0] * count
    ends = [end for _, end in spans]
    idle = _Idle(shard)
    for window in shard.windows:
        begin, end = window.begin_ns / 1e9 + offset, window.end_ns / 1e9 + offset
        if end <= begin:
            continue
        busy, waited = _window_work(window, group, idle)
        for index in range(bisect_right(ends, begin), count):
            overlap = min(end, spans[index][1]) - max(begin, spans[index][0])
            if overlap <= 0:
                break
            part = overlap / (end - begin)
            made.present[index] += overlap
            made.waits[index] += waited * part
            for key, seconds in busy.items():
                made.busy[index][key] += seconds * part
    return made


def _phases_of(shard: Shard) -> frozenset[str]:
    paths = {path for window in shard.windows for path in window.phases}
    return frozenset(name_at(path) for path in paths if not is_of_thread(path))


def _window_work(window: Window, group: str, idle: _Idle) -> tuple[Work, float]:
    """(the work of a process in a window, seconds that it waited)."""
    busy: Work = defaultdict(float)
    waited = 0.0
    for path, delta in window.phases.items():
        if is_of_thread(path):
            continue
        name, seconds = name_at(path), delta.self_ns / 1e9
        if name in WAITS:
            waited += seconds
        elif name:
            busy[group, name] += seconds
        else:
            blocked = seconds * idle.share(window)
            waited += blocked
            busy[group, NO_PHASE_LABEL] += seconds - blocked
    return busy, waited


class _Idle:
    """How much of its time in no phase a process had nothing to do."""

    def __init__(self, shard: Shard) -> None:
        self._stacks, self._own = shard.stacks, shard.notes.own_package or ""
        #: Stack -> whether code of the program is in it.
        self._works: dict[int, bool] = {}

    def share(self, window: Window) -> float:
        """Blocked, or in a library's loop that waits for a task: an actor without one."""
        idle = whole = 0
        for (path, stack, mode), (_, ns) in window.samples.items():
            if path == "":
                whole += ns
                idle += ns * (mode in BLOCKED or not self._is_the_programs(stack))
        return idle / whole if whole else 1.0

    def _is_the_programs(self, stack: int) -> bool:
        if stack not in self._works:
            rows = unfold(stack, self._stacks)
            self._works[stack] = any(is_program_file(row.file, self._own) for row in rows)
        return self._works[stack]
