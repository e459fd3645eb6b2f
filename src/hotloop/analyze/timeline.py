"""Splits a run into start-up, training loop and what follows, and puts processes on one clock."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hotloop.capture.reader import Shard
from hotloop.capture.window import PhaseDelta, Window
from hotloop.phases import LOOP_BEGINS, is_of_thread, name_at

STARTUP, LOOP, AFTER = "startup", "loop", "after"


@dataclass
class Timeline:
    """The windows of one process, cut at the begin and the end of its training loop."""

    startup: list[Window]
    loop: list[Window]
    after: list[Window]
    loop_begin_ns: int
    loop_end_ns: int
    end_ns: int
    found_loop: bool

    @property
    def parts(self) -> tuple[tuple[str, list[Window]], ...]:
        return (STARTUP, self.startup), (LOOP, self.loop), (AFTER, self.after)

    @property
    def loop_s(self) -> float:
        return (self.loop_end_ns - self.loop_begin_ns) / 1e9


def split_timeline(windows: list[Window]) -> Timeline:
    """Cut the windows; a process without a recorded loop is all loop."""
    end = windows[-1].end_ns if windows else 0
    begin = windows[0].begin_ns if windows else 0
    if not any(window.loop_last_ns for window in windows):
        return Timeline([], windows, [], begin, end, end, found_loop=False)
    first = next(i for i, window in enumerate(windows) if window.loop_last_ns)
    loop_end = max(window.loop_last_ns for window in windows)
    loop_begin = _loop_begin(windows[first])
    startup, loop = windows[:first], list[Window]()
    if _plays_first(windows, first):
        startup, loop = _from_first_call(startup)
        loop_begin = loop[0].begin_ns
    after: list[Window] = []
    for window in windows[first:]:
        if window.begin_ns >= loop_end:
            after.append(window)
        elif window.end_ns > loop_end:
            inside, outside = split_at(window, loop_end)
            loop.append(inside)
            after.append(outside)
        else:
            loop.append(window)
    return Timeline(startup, loop, after, loop_begin, loop_end, end, found_loop=True)


def _loop_begin(window: Window) -> int:
    """The first entry of a loop phase: the window's begin, unless the window was not cut there."""
    firsts = [
        delta.first_ns
        for path, delta in window.phases.items()
        if delta.first_ns and name_at(path) in LOOP_BEGINS
    ]
    return max(min(firsts), window.begin_ns) if firsts else window.begin_ns


#: What a program without a known environment does in its loop before its first gradient step: it
#: plays, searches or generates with its network. A single call only shows a shape.
_PLAYS = "inference"
_FEWEST_CALLS = 10
#: Such calls in the loop per gradient step; a target network makes fewer.
_CALLS_PER_UPDATE = 2.0


def _plays_first(windows: list[Window], first: int) -> bool:
    """Whether the loop's repeated work begins before the first gradient step."""
    loop = windows[first:]
    updates = _calls(loop, "learn.backward", "learn.step")
    others = LOOP_BEGINS - {"learn", "learn.backward", "learn.optimizer", "buffer.add"}
    if not updates or _calls(loop, *others):
        return False
    before, again = _calls(windows[:first], _PLAYS), _calls(loop, _PLAYS)
    return before >= _FEWEST_CALLS and again >= _CALLS_PER_UPDATE * updates


def _calls(windows: list[Window], *names: str) -> int:
    return sum(
        delta.calls
        for window in windows
        for path, delta in window.phases.items()
        if name_at(path) in names and not is_of_thread(path)
    )


def _from_first_call(startup: list[Window]) -> tuple[list[Window], list[Window]]:
    """The windows before the loop, cut where a network is first called."""
    at = next(i for i, window in enumerate(startup) if _calls([window], _PLAYS))
    own = (each for each in startup[at].phases.items() if not is_of_thread(each[0]))
    firsts = [delta.first_ns for path, delta in own if name_at(path) == _PLAYS]
    begin_ns = min(filter(None, firsts), default=startup[at].begin_ns)
    if begin_ns <= startup[at].begin_ns:
        return startup[:at], startup[at:]
    before, since = split_at(startup[at], begin_ns)
    # Inputs of networks are counted from then on.
    since.counters, before.counters = before.counters, {}
    since.gauges, before.gauges = before.gauges, {}
    return [*startup[:at], before], [since, *startup[at + 1 :]]


def split_at(window: Window, at_ns: int) -> tuple[Window, Window]:
    """A window in which the loop begins or ends, as two.

    A phase whose first entry is later belongs to what follows, with all that is inside it; the
    time in no phase is shared out by what is left.
    """
    later = [p for p, delta in window.phases.items() if delta.first_ns >= at_ns and delta.first_ns]
    later = [p for p in later if not is_of_thread(p)]
    tail_ns = window.end_ns - at_ns
    in_later = sum(window.phases[p].self_ns for p in later)
    idle = window.phases.get("", PhaseDelta())
    idle_after = min(max(tail_ns - in_later, 0), idle.self_ns)
    inside = replace(window, end_ns=at_ns, phases=dict(window.phases), samples=dict(window.samples))
    outside = Window(window.first, window.last, at_ns, window.end_ns)
    for path in later:
        outside.phases[path] = inside.phases.pop(path)
        for key in [key for key in inside.samples if key[0] == path]:
            outside.samples[key] = inside.samples.pop(key)
    if idle_after:
        inside.phases[""] = replace(idle, self_ns=idle.self_ns - idle_after)
        outside.phases[""] = PhaseDelta(self_ns=idle_after)
        _share_out_samples(inside, outside, idle_after / idle.self_ns)
    return inside, outside


def _share_out_samples(inside: Window, outside: Window, share_after: float) -> None:
    """Samples in no phase carry no time of day: each goes to both sides by their length."""
    for key, (count, ns) in list(inside.samples.items()):
        if key[0] == "":
            moved = round(ns * share_after)
            inside.samples[key] = [count, ns - moved]
            outside.samples[key] = [0, moved]


def offset_s(shard: Shard, main: Shard) -> float:
    """Seconds to add to the times of a process to get those of the main process's clock."""
    here, there = shard.header, main.header
    # Containers of one machine have one clock under several host names; machines may share a name.
    known = here.boot and there.boot
    one_clock = here.boot == there.boot if known else here.host == there.host
    if not one_clock:
        return _between(there.started, here.started)
    return _between(there.origin_ns, here.origin_ns) / 1e9


def _between(begin: float | None, end: float | None) -> float:
    return end - begin if begin is not None and end is not None else 0.0
