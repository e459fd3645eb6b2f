"""What bounds a run: how the host spent its time in each phase, as shares that add up to one.

Samples show the state of a phase's own time: Python, native code, or waiting, by reason. Recordings
of the device show the time in calls that launch, copy, or wait while kernels run; samples count
that time as native code or waiting. Time in no phase has its own samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hotloop.analyze.device_use import DeviceUse, PhaseDevice
from hotloop.analyze.model import Phase
from hotloop.analyze.samples.states import States

#: Phases in which blocking, where other processes take part, is waiting for these; in `wait`, it
#: is waiting for threads if there are none.
_FOR_OTHERS = frozenset(
    ("env.step", "env.reset", "env.render", "wait", "collect", "data.wait", "comm")
)


@dataclass
class Bound:
    """Shares of the host's time; they add up to one."""

    python: float = 0.0
    native: float = 0.0
    moving: float = 0.0
    launching: float = 0.0
    kernels: float = 0.0
    waiting: float = 0.0
    cores: float = 0.0
    locks: float = 0.0
    io: float = 0.0
    sleeping: float = 0.0

    def largest(self) -> str:
        """The name of the largest share."""
        return max(vars(self), key=lambda name: float(getattr(self, name)))


#: The name of each share in a report.
TITLES = {
    "python": "host Python",
    "native": "host native code",
    "moving": "data movement",
    "launching": "kernel launches",
    "kernels": "kernels",
    "waiting": "waiting for other processes or threads",
    "cores": "waiting for a CPU core",
    "locks": "waiting for a lock or the GIL",
    "io": "waiting for I/O or another process",
    "sleeping": "sleeping",
}


def bounds(
    phases: Iterable[Phase],
    use: DeviceUse | None,
    outside_s: float,
    states: Mapping[str, States],
    *,
    has_workers: bool = False,
) -> tuple[dict[str, Bound], Bound | None]:
    """(path -> what bounds its own time, what bounds the whole loop) of one process's main thread.

    `states` are those of its samples by path, `has_workers` is whether other processes take part.
    """
    recorded = {each.path: each for each in use.phases} if use is not None else {}
    found: dict[str, Bound] = {}
    seconds: dict[str, float] = {}
    for phase in phases:
        bound = _bound(phase.name, states.get(phase.path), recorded.get(phase.path), has_workers)
        if bound is not None:
            found[phase.path], seconds[phase.path] = bound, phase.self_s
    parts = [(found[path], seconds[path]) for path in found]
    outside = _bound("", states.get(""), None, has_workers)
    if outside is not None and outside_s > 0:
        parts.append((outside, outside_s))
    return found, _weighted(parts) if parts else None


def _bound(
    name: str, states: States | None, device: PhaseDevice | None, has_workers: bool
) -> Bound | None:
    if device is None and name == "transfer":
        cores = states.core if states is not None else 0.0
        return Bound(moving=1 - cores, cores=cores)
    if states is None:
        if name == "wait" and (device is None or not device.waiting):
            return Bound(waiting=1.0)
        if device is None:
            return None
        states = States(native=1.0)
    blocked = states.lock + states.io + states.other
    if name == "wait" or (has_workers and name in _FOR_OTHERS):
        waiting, locks, io = blocked, 0.0, 0.0
    else:
        waiting, locks, io = 0.0, states.lock, states.io + states.other
    bound = Bound(
        python=states.python,
        native=states.native,
        waiting=waiting,
        cores=states.core,
        locks=locks,
        io=io,
        sleeping=states.sleeping,
    )
    return _normal(_with_device(bound, device))


def _with_device(bound: Bound, device: PhaseDevice | None) -> Bound:
    """Device time is taken from native code first, then from time that looks like waiting."""
    if device is None:
        return bound
    bound.launching, bound.moving, bound.kernels = device.launching, device.moving, device.waiting
    taken = device.launching + device.moving + device.waiting
    for name in ("native", "io", "locks", "waiting", "sleeping", "cores"):
        part = min(getattr(bound, name), taken)
        setattr(bound, name, getattr(bound, name) - part)
        taken -= part
    return bound


def _normal(bound: Bound) -> Bound:
    whole = sum(vars(bound).values())
    if whole <= 0:
        return Bound(native=1.0)
    return Bound(**{name: share / whole for name, share in vars(bound).items()})


def _weighted(parts: list[tuple[Bound, float]]) -> Bound:
    whole = sum(seconds for _, seconds in parts)
    total = Bound()
    for bound, seconds in parts:
        for name, share in vars(bound).items():
            more = share * seconds / whole if whole > 0 else share / len(parts)
            setattr(total, name, getattr(total, name) + more)
    return _normal(total)
