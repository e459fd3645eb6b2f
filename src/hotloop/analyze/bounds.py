"""What bounds a run: how the host's time in each phase was spent, in shares that add up to one.

Six answers. Samples say how much of a phase's own time was Python, native code or waiting;
recordings of the device say how much of it went into calls that launch, that copy, and that wait
while kernels run. What the device takes is inside what samples call native code or waiting.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hotloop.analyze.device import DeviceUse, PhaseDevice
from hotloop.analyze.model import Phase
from hotloop.words import names_of

#: Phases in which waiting is waiting for environments.
_ENVIRONMENTS = frozenset(("env.step", "env.reset", "env.render", "wait", "collect"))


@dataclass
class Bound:
    """Shares of a stretch of the host's time; together they are one."""

    python: float = 0.0
    native: float = 0.0
    moving: float = 0.0
    launching: float = 0.0
    kernels: float = 0.0
    waiting: float = 0.0

    def largest(self) -> str:
        """The name of the largest share."""
        return max(vars(self), key=lambda name: float(getattr(self, name)))


#: What each share is called in a report.
TITLES = {
    "python": "host Python",
    "native": "host native code",
    "moving": "data movement",
    "launching": "kernel launches",
    "kernels": "kernels",
    "waiting": "waiting for environments",
}


def bounds(
    phases: Iterable[Phase], use: DeviceUse | None, outside_s: float
) -> tuple[dict[str, Bound], Bound | None]:
    """(place -> what bounds its own time, what bounds the whole loop)."""
    recorded = {each.path: each for each in use.phases} if use is not None else {}
    own = [p for p in phases if p.process == "main" and p.thread == "main"]
    found: dict[str, Bound] = {}
    seconds: dict[str, float] = {}
    for phase in own:
        bound = _bound(phase, recorded.get(phase.path))
        if bound is not None:
            found[phase.path], seconds[phase.path] = bound, phase.self_s
    if not found:
        return {}, None
    # What is in no phase is the program's own code around them.
    whole = _weighted([(found[path], seconds[path]) for path in found], outside_s)
    return found, whole


def _bound(phase: Phase, device: PhaseDevice | None) -> Bound | None:
    name = names_of(phase.path)[-1]
    python, waiting = phase.python_share, phase.waiting_share
    if python is None or waiting is None:
        if device is None and name not in ("wait", "transfer"):
            return None
        python, waiting = 0.0, 0.0
    launching = device.launching if device else 0.0
    moving = device.moving if device else 0.0
    kernels = device.waiting if device else 0.0
    if device is None and name == "transfer":
        return Bound(moving=1.0)
    if name == "wait" and not kernels:
        return Bound(waiting=1.0)
    taken = launching + moving + kernels
    # Elsewhere a thread that does not run waits for a core, a disk or the device's own thread.
    for_environments = waiting if name in _ENVIRONMENTS else 0.0
    native = max(1 - python - for_environments - taken, 0.0)
    return _normal(Bound(python, native, moving, launching, kernels, for_environments))


def _normal(bound: Bound) -> Bound:
    whole = sum(vars(bound).values())
    if whole <= 0:
        return Bound(native=1.0)
    return Bound(**{name: share / whole for name, share in vars(bound).items()})


def _weighted(parts: list[tuple[Bound, float]], outside_s: float) -> Bound:
    whole = sum(seconds for _, seconds in parts) + outside_s
    total = Bound(python=outside_s / whole if whole > 0 else 1.0)
    for bound, seconds in parts:
        for name, share in vars(bound).items():
            more = share * seconds / whole if whole > 0 else 0.0
            setattr(total, name, getattr(total, name) + more)
    return _normal(total)
