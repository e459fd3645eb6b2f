"""Environments in worker processes: the parts of the parent's step.

The parent sends actions, waits, and reads results. While it waits, the workers compute side by
side, and it continues when the slowest has replied. The parent's step consists of:

- *computing*: the time that a worker spends in the environment, averaged over workers;
- *waiting*: the rest of the parent's waiting, for the slowest worker, a free core or the pipe;
- *moving*: everything except waiting: packing, sending, reading, unpacking.
"""

from __future__ import annotations

from dataclasses import dataclass

from hotloop.analyze.model import Phase, of_main_thread
from hotloop.analyze.sums import summed
from hotloop.capture.reader import Shard
from hotloop.capture.window import Window
from hotloop.phases import is_of_thread, name_at, names_of


@dataclass(frozen=True)
class WorkerSplit:
    """The parent's environment steps, in seconds of the loop."""

    workers: int
    step_s: float
    computing_s: float
    waiting_s: float
    moving_s: float
    slowest: str
    slowest_s: float


def split_steps(phases: list[Phase]) -> WorkerSplit | None:
    """How the parent's environment steps split; None if no worker stepped."""
    busy = summed(
        (phase.process, phase.total_s)
        for phase in phases
        if phase.process != "main" and phase.name == "env.step"
    )
    if not busy:
        return None
    main = of_main_thread(phases)
    steps = [p for p in main if p.name == "env.step"] or _bare_steps(phases, main)
    paths = {phase.path for phase in steps}
    waits = [p for p in main if p.name == "wait" and (p.path in paths or p.parent in paths)]
    if not waits:
        return None
    step_s = sum(phase.total_s for phase in steps)
    wait_s = sum(phase.total_s for phase in waits)
    # Workers also step while the parent learns (asynchronous collectors): at most its waiting.
    computing_s = min(sum(busy.values()) / len(busy), wait_s)
    slowest = max(busy, key=lambda process: busy[process])
    return WorkerSplit(
        workers=len(busy),
        step_s=step_s,
        computing_s=computing_s,
        waiting_s=wait_s - computing_s,
        moving_s=max(step_s - wait_s, 0.0),
        slowest=slowest,
        slowest_s=busy[slowest],
    )


#: The parts of such a step, and the phases that may be around it.
BARE_STEP = ("wait", "transfer")
_AROUND = frozenset({"collect"})
#: Waits of the parent for each step of a worker, from which it waits for steps: one that waits for
#: whole rollouts, or for workers that learn by themselves, waits far more rarely.
WAITS_A_STEP = 0.5


def _bare_steps(phases: list[Phase], main: list[Phase]) -> list[Phase]:
    """The parent's steps if a program uses its own pipes instead of a vector environment."""
    bare = [p for p in main if p.name in BARE_STEP and set(names_of(p.path)[:-1]) <= _AROUND]
    stepped = sum(p.calls for p in phases if p.process != "main" and p.name == "env.step")
    waited = sum(p.calls for p in bare if p.name == "wait")
    return bare if waited >= WAITS_A_STEP * stepped else []


def busy_ns(window: Window) -> int:
    """Time of a window that a process's main thread spent in phases other than `wait`."""
    return sum(
        delta.self_ns
        for path, delta in window.phases.items()
        if path and not is_of_thread(path) and name_at(path) != "wait"
    )


def busy_shares(shard: Shard, begin_s: float, end_s: float, count: int) -> list[float | None]:
    """The share of each of `count` equal times that a process spent in phases other than `wait`."""
    length = (end_s - begin_s) / count
    if length <= 0:
        return []
    busy, seen = [0.0] * count, [0.0] * count
    for window in shard.windows:
        busy_s = busy_ns(window) / 1e9
        first, last = window.begin_ns / 1e9 - begin_s, window.end_ns / 1e9 - begin_s
        for index in range(max(int(first / length), 0), min(int(last / length) + 1, count)):
            overlap = min(last, (index + 1) * length) - max(first, index * length)
            if overlap > 0:
                seen[index] += overlap
                busy[index] += busy_s * overlap / window.seconds
    return [b / s if s > 0 else None for b, s in zip(busy, seen, strict=True)]
