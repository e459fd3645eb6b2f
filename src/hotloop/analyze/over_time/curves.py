"""Part of a run as a few named figures, to be drawn next to learning curves.

Phases are listed with their own times, which add up to the time per step; `collect` and `learn` are
also listed with their total times. Names do not change during a run: a phase that once had a curve
keeps it.
"""

from __future__ import annotations

from hotloop.analyze.over_time.series import SeriesPoint
from hotloop.capture.schema import ENV_STEPS, GRADIENT_STEPS
from hotloop.phases import NO_PHASE, PARENTS

PREFIX = "hotloop/"

#: A phase below this share of the time is not worth a curve.
SMALLEST_SHARE = 0.005
#: Maximum number of curves in one group.
MOST_PHASES = 40

#: The unit of times: the first of these that was counted.
_UNITS = {ENV_STEPS: "step", GRADIENT_STEPS: "gradient_step"}


class Curves:
    """Computes figures for parts of one run."""

    def __init__(self) -> None:
        self._phases: list[str] = []

    def figures(
        self,
        part: SeriesPoint,
        memory_mb: float | None = None,
        recent_return: float | None = None,
    ) -> dict[str, float]:
        """The figures of a part of the run; none if it has no step."""
        unit = next((name for name in _UNITS if part.counters.get(name, 0.0) > 0), None)
        if unit is None or part.seconds <= 0:
            return {}
        self._notice(part)
        found = {
            f"{name.removeprefix('env_')}_per_s": part.counters[name] / part.seconds
            for name in _UNITS
            if part.counters.get(name, 0.0) > 0
        }
        per = f"_ms_per_{_UNITS[unit]}"
        ms = 1e3 / part.counters[unit]
        found["all" + per] = part.seconds * ms
        for name in self._phases:
            label = "in_no_phase" if name == NO_PHASE else name.replace("/", ".")
            found[label + per] = part.own.get(name, 0.0) * ms
        for name in PARENTS:
            if name in part.total:
                found[f"{name}_in_all{per}"] = part.total[name] * ms
        if memory_mb is not None:
            found["memory_mb"] = memory_mb
        if recent_return is not None:
            found["return_mean_100"] = recent_return
        return {PREFIX + name: value for name, value in found.items()}

    def _notice(self, part: SeriesPoint) -> None:
        for name in sorted(part.own, key=lambda each: -part.own[each]):
            large = part.own[name] >= SMALLEST_SHARE * part.seconds
            if large and name not in self._phases and len(self._phases) < MOST_PHASES:
                self._phases.append(name)
