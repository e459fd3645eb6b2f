"""Device activity by phase: the launches, copies and waits of each node of the region tree.

The input is a list of activities (calls of the driver on the host, kernels and copies on the
device, joined by their correlation) and the slices of the same recording. Device work belongs to
the node in which the main thread was when the work was launched, whenever it ran: a backward pass
launches from one of autograd's threads while the main thread waits in `learn.backward`. Pure
functions: no clock, no device.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from hotloop.capture.device_delta import DeviceDelta

#: Kinds of calls on the host, and of work on the device.
LAUNCH, COPY_CALL, SYNC, OTHER_CALL = "launch", "copy call", "sync", "call"
KERNEL, TO_DEVICE, TO_HOST, ON_DEVICE = "kernel", "to device", "to host", "on device"
CALLS = frozenset((LAUNCH, COPY_CALL, SYNC, OTHER_CALL))
#: What is special about a piece of work: a copy of host memory that is not pinned, a kernel that
#: multiplies float32 matrices without TF32.
PAGEABLE, FLOAT32 = "pageable", "float32"
COPIES = frozenset((TO_DEVICE, TO_HOST, ON_DEVICE))

#: A kernel that begins this soon after its launch found an idle device.
SHORT_QUEUE_NS = 100_000
#: A launch returns within microseconds unless the queue is full: then it waits for a kernel to end.
#: A call is blocked if it takes this many times the usual launch, and at least this long.
BLOCKED_TIMES, BLOCKED_NS = 5, 20_000


class Activity(NamedTuple):  # thousands are made while the program waits
    """One call of the driver, or one piece of work on a device; times of hotloop's clock."""

    kind: str
    begin_ns: int
    end_ns: int
    correlation: int
    bytes: int = 0
    device: int = 0
    trait: str = ""


@dataclass(slots=True)
class Call:
    """A slice of the main thread: node, begin, end, and whether it is a whole call."""

    path: str
    begin_ns: int
    end_ns: int
    whole: bool = True
    self_ns: int = 0
    launches: int = 0


@dataclass
class HostTimeline:
    """Where the main thread was at each moment of a recording."""

    begin_ns: int
    end_ns: int
    times: list[int] = field(default_factory=list)
    #: The innermost call from each of these times on; None is no phase.
    inside: list[Call | None] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    def at(self, ns: int) -> Call | None:
        index = bisect_right(self.times, ns) - 1
        return self.inside[index] if index >= 0 else None


def timeline(calls: Iterable[Call], begin_ns: int, end_ns: int) -> HostTimeline:
    """The innermost call at each moment, from whole slices that lie inside each other."""
    line = HostTimeline(begin_ns, end_ns, [begin_ns], [None])
    open_calls: list[Call] = []

    def move(now: int, call: Call | None) -> None:
        now = min(max(now, begin_ns, line.times[-1]), end_ns)
        if open_calls:
            open_calls[-1].self_ns += now - line.times[-1]
        line.times.append(now)
        line.inside.append(call)

    def close(up_to: int) -> None:
        while open_calls and open_calls[-1].end_ns <= up_to:
            move(open_calls[-1].end_ns, open_calls[-2] if len(open_calls) > 1 else None)
            open_calls.pop()

    for call in sorted(calls, key=lambda c: (c.begin_ns, -c.end_ns, c.path.count("/"))):
        if call.end_ns <= begin_ns or call.begin_ns >= end_ns:
            continue
        close(call.begin_ns)
        move(call.begin_ns, call)
        open_calls.append(call)
        line.calls.append(call)
        call.whole = call.begin_ns > begin_ns and call.end_ns < end_ns
    close(end_ns)
    while open_calls:
        move(end_ns, None)
        open_calls.pop()
    return line


def _joined(calls: Iterable[Call]) -> list[Call]:
    """Join the parts of a call that a closing window cut: one ends where the next begins."""
    parts: dict[tuple[str, int], Call] = {}
    whole: list[Call] = []
    for call in sorted(calls, key=lambda c: (c.begin_ns, c.end_ns)):
        before = parts.pop((call.path, call.begin_ns), None)
        if before is None:
            call = Call(call.path, call.begin_ns, call.end_ns, call.whole)
            whole.append(call)
        else:
            before.end_ns = call.end_ns
            before.whole = before.whole and call.whole
            call = before
        parts[call.path, call.end_ns] = call
    return whole


class RecordedWork:
    """Node -> its device work, in whole calls and in parts of calls."""

    def __init__(self) -> None:
        self.whole: dict[str, DeviceDelta] = {}
        self.parts: dict[str, DeviceDelta] = {}

    def of(self, call: Call | None) -> DeviceDelta:
        if call is None:
            return self.parts.setdefault("", DeviceDelta())
        table = self.whole if call.whole else self.parts
        return table.setdefault(call.path, DeviceDelta())


def attribute(
    activities: list[Activity],
    calls: Iterable[Call],
    begin_ns: int,
    end_ns: int,
    counted: dict[str, int] | None = None,
) -> RecordedWork:
    """The device work of each node between two moments.

    `counted` says how many calls of each node ended there: a gap may be in several slices.
    """
    host = [a for a in activities if a.kind in CALLS]
    work = [a for a in activities if a.kind not in CALLS]
    launched = {a.correlation: a for a in host}
    slices = _joined(calls)
    a_slice = _calls_a_slice(slices, end_ns, counted or {})
    end_ns = min(end_ns, _known_up_to(host, work, end_ns))
    line = timeline(slices, begin_ns, end_ns)
    _keep_cycles(line, [a for a in host if a.kind == LAUNCH])
    found = RecordedWork()
    _count_calls(line, found, a_slice)
    busy = union((a.begin_ns, a.end_ns) for a in work if a.kind == KERNEL)
    usual = _usual_launch(host)
    for call in host:
        if begin_ns <= call.begin_ns < end_ns:
            _count_call(found.of(line.at(call.begin_ns)), call, busy, usual)
    # Include waits after the end of the recording: its kernels are still in the queue then.
    waits = union(wait for call in host if (wait := _wait_in(call, usual)) is not None)
    awaited_until = begin_ns
    for each in sorted(work, key=lambda a: a.begin_ns):
        cause = launched.get(each.correlation)
        if cause is not None and begin_ns <= cause.begin_ns < end_ns:
            delta = found.of(line.at(cause.begin_ns))
            _count_work(delta, each)
            if each.kind == KERNEL:
                delta.awaited_ns += overlap(waits, max(each.begin_ns, awaited_until), each.end_ns)
        if each.kind == KERNEL:
            awaited_until = max(awaited_until, each.end_ns)
    for device in {a.device for a in work}:
        own = [a for a in work if a.device == device]
        _count_idle(own, launched, line, found)
    return found


def seen_share(activities: list[Activity]) -> float:
    """Share of the launches whose work was recorded, up to the last such launch."""
    seen = {a.correlation for a in activities if a.kind not in CALLS}
    launches = [a for a in activities if a.kind == LAUNCH]
    last = max((a.begin_ns for a in launches if a.correlation in seen), default=0)
    known = [a.correlation in seen for a in launches if a.begin_ns <= last]
    return sum(known) / len(known) if known else float(not launches)


def _known_up_to(host: list[Activity], work: list[Activity], end_ns: int) -> int:
    """The first launch whose work was not recorded: it was still queued at the end."""
    seen = {a.correlation for a in work}
    missing = [a.begin_ns for a in host if a.kind == LAUNCH and a.correlation not in seen]
    # A launch here and there that leaves no work (an empty graph) is not the queue's end.
    last_seen = max((a.begin_ns for a in host if a.correlation in seen), default=end_ns)
    return min((ns for ns in missing if ns > last_seen), default=end_ns)


def _calls_a_slice(slices: list[Call], end_ns: int, counted: dict[str, int]) -> dict[str, float]:
    """Node -> calls per slice: one, or less where a gap continues in a later slice."""
    ended: dict[str, int] = {}
    for call in slices:
        if call.end_ns < end_ns:
            ended[call.path] = ended.get(call.path, 0) + 1
    return {path: (counted.get(path) or number) / number for path, number in ended.items()}


def _keep_cycles(line: HostTimeline, launches: list[Activity]) -> None:
    """For each node, count from one call to the next of the same kind, to balance all kinds.

    A node may have calls of several kinds in turn: a gradient is cleared, clipped and applied. A
    recording is more likely cut in a long call than in a short one, so that its whole calls, all
    taken together, have too few of the long kind. Calls with equally many launches are of one kind.
    """
    for each in launches:
        call = line.at(each.begin_ns)
        if call is not None and line.begin_ns <= each.begin_ns < line.end_ns:
            call.launches += 1
    whole: dict[str, list[Call]] = {}
    for call in line.calls:
        if call.whole:
            whole.setdefault(call.path, []).append(call)
    for calls in whole.values():
        first: dict[int, int] = {}
        reach = (0, 0)
        for index, call in enumerate(calls):
            begun = first.setdefault(call.launches, index)
            reach = max(reach, (index - begun, begun))
        number, begun = reach
        if number and len(first) > 1:
            for call in (*calls[:begun], *calls[begun + number :]):
                call.whole = False


def _count_calls(line: HostTimeline, found: RecordedWork, a_slice: dict[str, float]) -> None:
    for call in line.calls:
        delta = found.of(call)
        delta.host_ns += call.self_ns
        if call.whole:
            delta.millicalls += round(1000 * a_slice.get(call.path, 1.0))
    outside = line.end_ns - line.begin_ns - sum(call.self_ns for call in line.calls)
    found.of(None).host_ns += max(outside, 0)


def _usual_launch(host: list[Activity]) -> int:
    """The usual duration of a launch that is not blocked."""
    lengths = sorted(a.end_ns - a.begin_ns for a in host if a.kind == LAUNCH)
    return lengths[len(lengths) // 2] if lengths else 0


def _wait_in(call: Activity, usual: int) -> tuple[int, int] | None:
    """The part of a driver call in which the host may be waiting for the device."""
    if call.kind in (SYNC, COPY_CALL):
        return call.begin_ns, call.end_ns
    if call.kind == LAUNCH:
        length = call.end_ns - call.begin_ns
        if length > max(BLOCKED_TIMES * usual, BLOCKED_NS):
            return call.begin_ns + usual, call.end_ns
    return None


def _count_call(
    delta: DeviceDelta, call: Activity, busy: list[tuple[int, int]], usual: int
) -> None:
    length = call.end_ns - call.begin_ns
    wait = _wait_in(call, usual)
    waited = overlap(busy, *wait) if wait is not None else 0
    delta.waited_ns += waited
    if call.kind == LAUNCH:
        delta.launches += 1
        delta.launch_ns += length - waited
        delta.blocked_ns += waited
    elif call.kind == COPY_CALL:
        delta.copy_call_ns += length
    elif call.kind == SYNC:
        delta.syncs += 1
        delta.sync_ns += length


def _count_work(delta: DeviceDelta, each: Activity) -> None:
    length = each.end_ns - each.begin_ns
    if each.kind == KERNEL:
        delta.kernels += 1
        delta.kernel_ns += length
        delta.float32_ns += length if each.trait == FLOAT32 else 0
        return
    if each.trait == PAGEABLE:
        delta.pageable_bytes += each.bytes
        delta.pageable_ns += length
    name = each.kind.replace(" ", "_")
    setattr(delta, name, getattr(delta, name) + 1)
    setattr(delta, name + "_bytes", getattr(delta, name + "_bytes") + each.bytes)
    setattr(delta, name + "_ns", getattr(delta, name + "_ns") + length)


def _count_idle(
    work: list[Activity], launched: dict[int, Activity], line: HostTimeline, found: RecordedWork
) -> None:
    """Every period without a kernel, by the reason why the next kernel waited."""
    begin_ns, end_ns = line.begin_ns, line.end_ns
    copies = union((a.begin_ns, a.end_ns) for a in work if a.kind in COPIES)
    kernels = sorted((a for a in work if a.kind == KERNEL), key=lambda a: a.begin_ns)
    free_since = _free_since(kernels, launched, begin_ns)
    for kernel in kernels:
        begin, end = min(kernel.begin_ns, end_ns), min(kernel.end_ns, end_ns)
        cause = launched.get(kernel.correlation)
        if begin > free_since and cause is not None:
            delta = found.of(line.at(cause.begin_ns))
            copying = overlap(copies, free_since, begin)
            # When the host had launched it; a kernel may begin before its launch returns.
            there = min(max(cause.end_ns, free_since), begin)
            late = there - free_since - overlap(copies, free_since, there)
            delta.copy_ns += copying
            delta.late_ns += late
            delta.queue_ns += begin - free_since - copying - late
        free_since = max(free_since, end)
    if end_ns > free_since and work:
        # Nothing more was launched: the device waits for the host.
        found.of(line.at(end_ns - 1)).late_ns += end_ns - free_since


def _free_since(kernels: list[Activity], launched: dict[int, Activity], begin_ns: int) -> int:
    """From when on the device's idle time is known.

    Kernels that were launched before a recording began are not in it. Where the first one that is
    had to wait, they were before it in the queue.
    """
    if not kernels:
        return begin_ns
    cause = launched.get(kernels[0].correlation)
    if cause is not None and kernels[0].begin_ns - cause.end_ns < SHORT_QUEUE_NS:
        return begin_ns
    return kernels[0].begin_ns


# -- intervals --


def union(intervals: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same time as intervals that do not touch, in order."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        elif end > begin:
            merged.append((begin, end))
    return merged


def overlap(intervals: list[tuple[int, int]], begin: int, end: int) -> int:
    """How much of one interval lies in others, which are sorted."""
    total = 0
    index = max(bisect_right(intervals, (begin, begin)) - 1, 0)
    for each_begin, each_end in intervals[index:]:
        if each_begin >= end:
            break
        total += max(min(each_end, end) - max(each_begin, begin), 0)
    return total
