"""A run in progress: what it is doing now, and what it has done so far."""

from __future__ import annotations

from dataclasses import dataclass

from hotloop.analyze.model import Analysis
from hotloop.analyze.over_time.series import SeriesPoint, points, together
from hotloop.analyze.timeline import LOOP, STARTUP
from hotloop.capture.reader import Capture
from hotloop.capture.schema import GRADIENT_STEPS, RETURN_RECENT
from hotloop.phases import NO_PHASE, NO_PHASE_LABEL

#: Length of "now": long enough for an iteration of most programs, short enough to follow.
RECENT_S = 10.0
#: Points of the little curve of steps per second.
CURVE_POINTS = 60


@dataclass(frozen=True)
class LivePhase:
    """A phase by its own time: of the whole loop, and of the last seconds."""

    name: str
    category: str
    share: float
    recent: float
    step_s: float | None


@dataclass(frozen=True)
class LiveState:
    """Everything that a dashboard shows."""

    elapsed_s: float
    recent_s: float
    #: "ended", "killed" (no end line), "running" or "starting up".
    state: str
    in_loop: bool
    steps_per_s: float
    #: Mean return of the last 100 training episodes.
    recent_return: float | None
    mean_steps_per_s: float
    updates_per_s: float
    memory_mb: float | None
    cores: float
    gpu_busy: float | None
    gpu_memory_mb: float | None
    phases: list[LivePhase]
    curve: list[float]


def live_state_of(capture: Capture, analysis: Analysis, killed: bool = False) -> LiveState:
    """The state of a run at its last window."""
    run = points(capture.main, most=10**9)
    recent = _last(run, RECENT_S)
    loop = [point for point in run if point.part == LOOP]
    steps = sum(point.steps for point in loop)
    seconds = sum(point.wall_s for point in loop)
    last = run[-1] if run else SeriesPoint(part=STARTUP)
    in_loop = bool(loop) and analysis.run.startup_s < last.end_s
    return LiveState(
        elapsed_s=last.end_s,
        recent_s=recent.wall_s,
        state=_state(capture, killed, in_loop),
        in_loop=in_loop,
        steps_per_s=recent.steps_per_s,
        recent_return=_recent_return(run, analysis),
        mean_steps_per_s=steps / seconds if seconds > 0 else 0.0,
        updates_per_s=_rate(recent.counters.get(GRADIENT_STEPS, 0.0), recent.wall_s),
        memory_mb=next((p.memory_mb for p in reversed(run) if p.memory_mb is not None), None),
        cores=recent.cores,
        gpu_busy=recent.gpu_busy,
        gpu_memory_mb=recent.gpu_memory_mb,
        phases=_phases(analysis, recent, steps),
        curve=[point.steps_per_s for point in loop[-CURVE_POINTS:]],
    )


def _state(capture: Capture, killed: bool, in_loop: bool) -> str:
    if capture.launcher.end is not None:
        return "ended"
    return "killed" if killed else "running" if in_loop else "starting up"


def _recent_return(run: list[SeriesPoint], analysis: Analysis) -> float | None:
    known = (point.gauges.get(RETURN_RECENT) for point in reversed(run))
    return next((value for value in known if value is not None), analysis.returns.last)


def _last(run: list[SeriesPoint], seconds: float) -> SeriesPoint:
    """The last points together, for as long as asked; start-up is never mixed with what follows.

    While the loop continues, what follows its last step still belongs to it.
    """
    if not run:
        return SeriesPoint(part=STARTUP)
    first = len(run) - 1
    while (
        first > 0
        and (run[first - 1].part == STARTUP) == (run[-1].part == STARTUP)
        and run[-1].end_s - run[first - 1].begin_s <= seconds
    ):
        first -= 1
    return together(run[first:])


def _phases(analysis: Analysis, recent: SeriesPoint, steps: float) -> list[LivePhase]:
    own: dict[str, float] = {NO_PHASE_LABEL: analysis.outside_s}
    categories: dict[str, str] = {NO_PHASE_LABEL: NO_PHASE_LABEL}
    for phase in analysis.training_phases:
        own[phase.name] = own.get(phase.name, 0.0) + phase.self_s
        categories[phase.name] = phase.category
    found = [
        LivePhase(
            name,
            categories[name],
            _rate(seconds, analysis.run.loop_s),
            _rate(recent.own.get(NO_PHASE if name == NO_PHASE_LABEL else name, 0.0), recent.wall_s),
            seconds / steps if steps else None,
        )
        for name, seconds in own.items()
    ]
    return sorted(found, key=lambda phase: -max(phase.share, phase.recent))


def _rate(amount: float, seconds: float) -> float:
    return amount / seconds if seconds > 0 else 0.0
