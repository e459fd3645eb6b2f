"""A run in progress: what it is doing now, beside what it has done so far."""

from __future__ import annotations

from dataclasses import dataclass

from hotloop.analyze import course
from hotloop.analyze.flame import NO_PHASE
from hotloop.analyze.model import Analysis
from hotloop.capture.reader import Capture
from hotloop.words import GRADIENT_STEPS

#: What "now" is: long enough to hold an iteration of most trainings, short enough to follow.
RECENT_S = 10.0
#: Points of the little curve of steps per second.
CURVE_POINTS = 60


@dataclass(frozen=True)
class PhaseNow:
    """A phase by its own time: of the whole loop, and of the last seconds."""

    name: str
    category: str
    share: float
    recent: float
    step_s: float | None


@dataclass(frozen=True)
class Now:
    """All that a dashboard shows."""

    elapsed_s: float
    recent_s: float
    ended: bool
    in_loop: bool
    steps_per_s: float
    mean_steps_per_s: float
    updates_per_s: float
    memory_mb: float | None
    cores: float
    gpu_busy: float | None
    gpu_memory_mb: float | None
    phases: list[PhaseNow]
    curve: list[float]


def now_of(capture: Capture, analysis: Analysis, recent_s: float = RECENT_S) -> Now:
    """The state of a run at its last window."""
    run = course.points(capture.main, course.cost_of(analysis), most=10**9)
    recent = _last(run, recent_s)
    loop = [point for point in run if point.part == course.LOOP]
    steps = sum(point.steps for point in loop)
    seconds = sum(point.seconds for point in loop)
    last = run[-1] if run else course.Point(0.0, 0.0, course.STARTUP)
    return Now(
        elapsed_s=last.end_s,
        recent_s=recent.seconds,
        ended=capture.launcher.end is not None,
        in_loop=bool(loop) and analysis.run.startup_s < last.end_s,
        steps_per_s=recent.steps_per_s,
        mean_steps_per_s=steps / seconds if seconds > 0 else 0.0,
        updates_per_s=_rate(recent.counters.get(GRADIENT_STEPS, 0.0), recent.seconds),
        memory_mb=next((p.memory_mb for p in reversed(run) if p.memory_mb is not None), None),
        cores=recent.cores,
        gpu_busy=recent.gpu_busy,
        gpu_memory_mb=recent.gpu_memory_mb,
        phases=_phases(analysis, recent, steps),
        curve=[point.steps_per_s for point in loop[-CURVE_POINTS:]],
    )


def _last(run: list[course.Point], seconds: float) -> course.Point:
    """The last points together, for as long as asked; start-up is never mixed with what follows.

    What comes after the last step of a loop that goes on is still the loop.
    """
    if not run:
        return course.Point(0.0, 0.0, course.STARTUP)
    first = len(run) - 1
    while (
        first > 0
        and (run[first - 1].part == course.STARTUP) == (run[-1].part == course.STARTUP)
        and run[-1].end_s - run[first - 1].begin_s <= seconds
    ):
        first -= 1
    together = run[first].copy()
    for point in run[first + 1 :]:
        together.add(point)
    return together


def _phases(analysis: Analysis, recent: course.Point, steps: float) -> list[PhaseNow]:
    own: dict[str, float] = {NO_PHASE: analysis.outside_s}
    categories: dict[str, str] = {NO_PHASE: NO_PHASE}
    for phase in analysis.phases:
        if phase.process == "main" and phase.thread == "main":
            own[phase.name] = own.get(phase.name, 0.0) + phase.self_s
            categories[phase.name] = phase.category
    found = [
        PhaseNow(
            name,
            categories[name],
            _rate(seconds, analysis.run.loop_s),
            _rate(recent.own.get("" if name == NO_PHASE else name, 0.0), recent.seconds),
            seconds / steps if steps else None,
        )
        for name, seconds in own.items()
    ]
    return sorted(found, key=lambda phase: -max(phase.share, phase.recent))


def _rate(amount: float, seconds: float) -> float:
    return amount / seconds if seconds > 0 else 0.0
