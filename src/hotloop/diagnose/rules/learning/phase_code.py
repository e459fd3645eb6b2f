"""All the time of a phase's code, even if some samples were put into another phase.

The phase of a gap is known only once the gap has ended, and is predicted before that. So samples of
a run's first rollouts, and of code after rare calls, may be in the previous phase or in none,
although the code is the same.
"""

from __future__ import annotations

from hotloop.analyze.model import Analysis, Sample
from hotloop.analyze.sums import summed
from hotloop.diagnose.evidence import samples_under

#: Code with this part of its time in a phase is that phase's code.
BELONGS = 0.3
#: The loop itself continues with these: of the function around them only single lines belong.
_DRIVES = ("env.step", "learn.", "learn", "evaluate", "buffer.")

#: A function, or a line of one that drives the training.
_Unit = tuple[str, str, int]


def code_of(analysis: Analysis, phase: str) -> list[Sample]:
    """Samples in a phase, and those outside that are in the same functions or lines."""
    everywhere = samples_under(analysis)
    drivers = {frame.code for s in everywhere if _is_driving(s, phase) for frame in s.own}
    units = [(s, unit) for s in everywhere if (unit := _unit(s, drivers)) is not None]
    total = summed((unit, s.seconds) for s, unit in units)
    inside = summed((unit, s.seconds) for s, unit in units if phase in s.phases)
    known = {unit for unit, seconds in inside.items() if seconds >= BELONGS * total[unit]}
    return [s for s in everywhere if phase in s.phases or _unit(s, drivers) in known]


def _is_driving(sample: Sample, phase: str) -> bool:
    names = sample.phases
    return phase not in names and any(name.startswith(_DRIVES) for name in names)


def _unit(sample: Sample, drivers: set[tuple[str, str]]) -> _Unit | None:
    """The program's innermost function of a stack, or its line where that function drives."""
    frame = next(iter(sample.own), None)
    if frame is None or _is_driving(sample, ""):
        return None
    return (*frame.code, frame.line if frame.code in drivers else 0)
