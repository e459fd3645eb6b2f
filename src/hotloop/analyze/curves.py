"""Part of a run as a few named figures, to be drawn beside learning curves.

Phases are listed with their own times, which add up to the time per step; `collect` and `learn` are
also listed with their total times. Names do not change during a run: a phase that once had a curve
keeps it.
"""

from __future__ import annotations

from hotloop.analyze.series import SeriesPoint
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
        stretch: SeriesPoint,
        memory_mb: float | None = None,
        recent_return: float | None = None,
    ) -> dict[str, float]:
        """The figures of a part of the run; none if it has no step."""
        unit = next((name for name in _UNITS if stretch.counters.get(name, 0.0) > 0), None)
        if unit is None or stretch.seconds <= 0:
            return {}
        self._notice(stretch)
        found = {
            f"{name.removeprefix('env_')}_per_s": stretch.counters[name] / stretch.seconds
            for name in _UNITS
            if stretch.counters.get(name, 0.0) > 0
        }
        per = f"_ms_per_{_UNITS[unit]}"
        ms = 1e3 / stretch.counters[unit]
        found["all" + per] = stretch.seconds * ms
        for name in self._phases:
            label = "in_no_phase" if name == NO_PHASE else name.replace("/", ".")
            found[label + per] = stretch.own.get(name, 0.0) * ms
        for name in PARENTS:
            if name in stretch.total:
                found[f"{name}_in_all{per}"] = stretch.total[name] * ms
        if memory_mb is not None:
            found["memory_mb"] = memory_mb
        if recent_return is not None:
            found["return_mean_100"] = recent_return
        return {PREFIX + name: value for name, value in found.items()}

    def _notice(self, stretch: SeriesPoint) -> None:
        for name in sorted(stretch.own, key=lambda each: -stretch.own[each]):
            large = stretch.own[name] >= SMALLEST_SHARE * stretch.seconds
            if large and name not in self._phases and len(self._phases) < MOST_PHASES:
                self._phases.append(name)
