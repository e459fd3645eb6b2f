"""Two sides of a comparison: time per step, overall and by phase, and the verdict.

Compares time per environment step over the same steps. A phase is judged by its own time, so that a
slow environment does not make everything around it look slow; a parent's total is reported
separately. Counters are compared too: a side that makes fewer gradient steps is not faster, it does
less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from statistics import median

from hotloop.analyze.comparing.defaults import MARGIN
from hotloop.analyze.comparing.judgement import (
    FASTER,
    SLOWER,
    Evidence,
    Judgement,
    judge,
    judge_family,
    not_comparable,
)
from hotloop.analyze.comparing.statistics import ALPHA, Paired
from hotloop.analyze.model import Analysis
from hotloop.analyze.over_time.gauges import values_of
from hotloop.analyze.over_time.series import RunSeries, largest_share
from hotloop.analyze.processes.contention import Contention
from hotloop.analyze.sums import summed
from hotloop.capture import schema
from hotloop.capture.schema import ENV_STEPS, EPISODES, GRADIENT_STEPS, SAMPLES
from hotloop.phases import NO_PHASE, PARENTS

#: The first part of each run's steps is left out: allocators, caches and compilers warm up.
WARM_UP = 0.1

#: A phase with less of the loop than this on both sides is too short to judge.
SMALLEST_SHARE = 0.005

#: Counters that say how much work a step is, and whether a change in them makes two sides
#: incomparable. Episodes end when the agent makes them end: a fact to know, not another job.
WORK = {GRADIENT_STEPS: True, SAMPLES: True, EPISODES: False}

#: A counter that differs by less than this is the same work.
WORK_TOLERANCE = 0.05

#: At least this share of a run's time is its own. Waiting is read a few times a second: a
#: run of some milliseconds may seem to have done nothing else, and nothing can be divided by that.
LEAST_KEPT = 0.05
#: Seen from outside, waiting is known every tenth of a second; around a shorter loop that includes
#: the start of the program. The program's own figure for the whole loop, or the run, is exact.
SHORT_S = 1.0

#: Phases whose time is that of gradient steps rather than of environment steps.
GRADIENT_PHASES = ("learn", "buffer.sample")


@dataclass(frozen=True)
class Figures:
    """One run over the compared steps, everything per unit (an environment step)."""

    seconds: float
    own: dict[str, float]
    total: dict[str, float]
    work: dict[str, float]
    #: How coarsely each counter is known (0 is exactly).
    grain: dict[str, float] = field(default_factory=dict)
    #: Share of the time in which other programs had the core; it is out of all the above.
    waited: float = 0.0
    memory_mb: float | None = None


@dataclass(frozen=True)
class WorkChange:
    """A counter that is not the same on both sides, per unit."""

    counter: str
    first: float
    second: float
    #: Whether it makes the two sides incomparable.
    matters: bool

    @property
    def ratio(self) -> float:
        return self.second / self.first if self.first else math.inf


@dataclass
class PhaseJudgement:
    """One phase: its own time, its total time, and per gradient step if that matters."""

    name: str
    own: Judgement
    total: Judgement | None = None
    per_gradient_step: Judgement | None = None


@dataclass
class Comparison:
    """The result of a comparison."""

    names: tuple[str, str]
    unit: str
    whole: Judgement
    phases: list[PhaseJudgement]
    work: list[WorkChange]
    pairs: int
    method: str
    margin: float
    #: The phase in which most of the change is.
    responsible: str | None = None
    #: Median share of the time in which other programs had the core.
    waited: float = 0.0
    interleaved: bool = True
    notes: list[str] = field(default_factory=list)


def figures(
    run: RunSeries,
    unit: str,
    last: float,
    analysis: Analysis,
    contention: Contention | None = None,
    of_run: bool = False,
) -> Figures:
    """A run's figures per unit, up to its `last` unit, the warm-up left out.

    With `of_run`, seconds are those of the whole run up to there, start-up included.
    """
    first = 0.0 if of_run else WARM_UP * last
    part = run.step_range(unit, first, last)
    units = last - first
    begin_s = 0.0 if of_run else part.begin_s
    seconds = part.end_s if of_run else part.amounts.seconds
    started = analysis.run.header.started
    waited_s = 0.0
    if contention is not None and started is not None:
        waited_s = contention.waited(started + begin_s, started + part.end_s)
        delay_s = _of_main(analysis, schema.STARTUP_DELAY_S, schema.MAIN_DELAY_S, of_run)
        if delay_s is not None and part.end_s - begin_s < SHORT_S:
            share = min(seconds / max(_length(analysis, of_run), 1e-9), 1.0)
            waited_s = delay_s * contention.due_to_others * share
    # Seen from outside, other programs take the core from every phase alike.
    least = max(LEAST_KEPT, _share_on_core(analysis, of_run))
    kept = max(1.0 - waited_s / seconds, least) if seconds > 0 else 1.0
    whole = run.step_range(unit, 0.0, last).amounts
    exact = run.reached(unit) <= last * 1.01
    return Figures(
        seconds=seconds * kept / units,
        own={name: s * kept / units for name, s in part.amounts.own.items()},
        total={name: s * kept / units for name, s in part.amounts.total.items()},
        work={name: n / last for name, n in whole.counters.items() if name != unit},
        grain={c: 0.0 if exact else largest_share(run.points, c) for c in WORK},
        waited=1.0 - kept,
        memory_mb=analysis.run.memory_peak_mb,
    )


def _share_on_core(analysis: Analysis, of_run: bool) -> float:
    """The part of the loop, or of the run, that its main thread was on a core; 0 if not known.

    What waited is counted when the wait is over, which on a very busy machine is late.
    """
    used_s = _of_main(analysis, schema.STARTUP_CPU_S, schema.MAIN_CPU_S, of_run)
    if used_s is None or analysis.run.loop_s <= 0:
        return 0.0
    return min(used_s / _length(analysis, of_run), 1.0)


def _length(analysis: Analysis, of_run: bool) -> float:
    """Seconds of the loop, or of the run up to the loop's end."""
    return analysis.run.loop_s + analysis.run.startup_s * of_run


def _of_main(analysis: Analysis, at_begin: str, so_far: str, of_run: bool) -> float | None:
    """How much a figure of the main thread grew in the loop, or in the run; None if not known."""
    before = values_of(analysis.loop_windows, at_begin)
    after = values_of(analysis.loop_windows, so_far)
    if not before or not after:
        return None
    return after[-1] if of_run else max(after[-1] - before[0], 0.0)


def compare_pairs(
    pairs: Sequence[tuple[Figures, Figures]],
    unit: str,
    names: tuple[str, str] = ("first", "second"),
    *,
    level: float = ALPHA,
    margin: float = MARGIN,
    any_work: bool = False,
) -> Comparison:
    """The verdict on interleaved pairs of runs.

    `level` is what this look may spend on false alarms: once for the whole, and once for all
    phases together.
    """

    def evidence_of(name: str, kind: str, strictest: float) -> Evidence:
        return Paired(log_ratios(sides_of(pairs, name, kind)), strictest)

    sides = ([a.seconds for a, _ in pairs], [b.seconds for _, b in pairs])
    whole = Paired(log_ratios(sides), level)
    comparison = Comparison(
        names=names,
        unit=unit,
        whole=judge(whole, level, margin, sides),
        phases=judge_phases(pairs, level, margin, evidence_of),
        work=work_changes(pairs),
        pairs=len(pairs),
        method=whole.method,
        margin=margin,
        waited=median([figure.waited for pair in pairs for figure in pair]) if pairs else 0.0,
    )
    settle(comparison, pairs, level, margin, any_work)
    return comparison


def settle(
    comparison: Comparison,
    pairs: Sequence[tuple[Figures, Figures]],
    level: float,
    margin: float,
    any_work: bool,
) -> None:
    """Apply a change in work to the verdicts, and name the phase that is responsible."""
    gradients = next((c for c in comparison.work if c.counter == GRADIENT_STEPS), None)
    if gradients is not None and gradients.first and gradients.second:
        for phase in comparison.phases:
            if phase.name.partition(".")[0] == "learn" or phase.name in GRADIENT_PHASES:
                phase.per_gradient_step = _per_gradient_step(phase.name, pairs, level, margin)
                if not any_work:
                    phase.own = not_comparable(describe_work(gradients, comparison.unit), phase.own)
    comparison.responsible = responsible(comparison)
    why = [describe_work(change, comparison.unit) for change in comparison.work if change.matters]
    if why and not any_work:
        comparison.whole = not_comparable("; ".join(why), comparison.whole)


def describe_work(change: WorkChange, unit: str) -> str:
    """A change in work, in words."""
    what = change.counter.replace("_", " ") + " per " + one_of(unit)
    if not change.second:
        return f"the second makes no {what}"
    if not change.first:
        return f"only the second makes {what}"
    return f"the second makes {change.ratio:.3g} times the {what}"


def one_of(unit: str) -> str:
    """The name of one of that unit, for people."""
    return {ENV_STEPS: "environment step", GRADIENT_STEPS: "gradient step"}.get(
        unit, unit.rstrip("s").replace("_", " ")
    )


def log_ratio(first: float, second: float) -> float:
    """How many times faster the second is, on the log scale; NaN if one is zero."""
    if first > 0 and second > 0 and math.isfinite(first) and math.isfinite(second):
        return math.log(first / second)
    return math.nan


def work_changes(pairs: Sequence[tuple[Figures, Figures]]) -> list[WorkChange]:
    """Counters that differ between the two sides by more than chance and rounding."""
    changes = []
    for counter, matters in WORK.items():
        sides = (
            [a.work.get(counter, 0.0) for a, _ in pairs],
            [b.work.get(counter, 0.0) for _, b in pairs],
        )
        if not pairs or not any(sides[0] + sides[1]):
            continue
        first, second = median(sides[0]), median(sides[1])
        grain = max(figure.grain.get(counter, 0.0) for pair in pairs for figure in pair)
        evidence = Paired(log_ratios(sides))
        if not first or not second:
            differs = bool(first or second)
        else:
            beyond = abs(math.log(first / second)) > math.log1p(WORK_TOLERANCE + grain)
            # A single pair has no spread to compare with, so its value is used as it is.
            differs = beyond and (evidence.n < 2 or evidence.p_value() <= ALPHA)
        if differs:
            changes.append(WorkChange(counter, first, second, matters))
    return _without_consequences(changes)


def _without_consequences(changes: list[WorkChange]) -> list[WorkChange]:
    """Half the gradient steps are half the rows too; that is one change, not two."""
    steps = next((change for change in changes if change.counter == GRADIENT_STEPS), None)
    if steps is None or not steps.first or not steps.second:
        return changes
    return [
        change
        for change in changes
        if change.counter != SAMPLES
        or not change.first
        or not change.second
        or abs(math.log(change.ratio / steps.ratio)) > math.log1p(WORK_TOLERANCE)
    ]


def judge_phases(
    pairs: Sequence[tuple[Figures, Figures]],
    level: float,
    margin: float,
    evidence_of: Callable[[str, str, float], Evidence],
) -> list[PhaseJudgement]:
    """Every phase, judged together. `evidence_of` takes a name, "own" or "total", and a level."""
    rows: list[tuple[str, str]] = []
    phases: dict[str, PhaseJudgement] = {}
    names = phase_names(pairs)
    for name in names:
        for kind in ("own", "total") if name in PARENTS else ("own",):
            why = unfit(name, kind, pairs)
            if why and kind == "own":
                first, second = (median(side) for side in sides_of(pairs, name, kind))
                shown = not_comparable(why, Judgement("", first=first, second=second))
                phases[name] = PhaseJudgement(name, shown)
            elif not why:
                rows.append((name, kind))
    strictest = level / max(len(rows), 1)
    family = [
        (evidence_of(name, kind, strictest), sides_of(pairs, name, kind)) for name, kind in rows
    ]
    for (name, kind), judgement in zip(rows, judge_family(family, level, margin), strict=True):
        if kind == "own":
            phases[name] = PhaseJudgement(name, judgement)
        else:
            phases[name].total = judgement
    return [phases[name] for name in names]


def sides_of(
    pairs: Sequence[tuple[Figures, Figures]], name: str, kind: str
) -> tuple[list[float], list[float]]:
    """A phase's own or total time on both sides."""
    first = [getattr(a, kind).get(name, 0.0) for a, _ in pairs]
    second = [getattr(b, kind).get(name, 0.0) for _, b in pairs]
    return first, second


def log_ratios(sides: tuple[Sequence[float], Sequence[float]]) -> list[float]:
    """How many times faster the second was, pair by pair."""
    return [log_ratio(a, b) for a, b in zip(*sides, strict=True)]


def phase_names(pairs: Sequence[tuple[Figures, Figures]]) -> list[str]:
    """Phases of either side, those with the most time of their own first."""
    sums = summed(item for pair in pairs for figure in pair for item in figure.own.items())
    return sorted(sums, key=lambda name: (name == NO_PHASE, -sums[name]))


def unfit(name: str, kind: str, pairs: Sequence[tuple[Figures, Figures]]) -> str:
    """Why a phase cannot be judged; empty if it can."""
    first, second = sides_of(pairs, name, kind)
    if not any(first) or not any(second):
        return "only in the second" if any(second) else "only in the first"
    wholes = [figure.seconds for figure in chain.from_iterable(zip(*pairs, strict=True))]
    shares = [s / whole for s, whole in zip(first + second, wholes, strict=True) if whole > 0]
    if not shares or median(shares) < SMALLEST_SHARE:
        return f"below {SMALLEST_SHARE:.1%} of the loop"
    return "" if all(first) and all(second) else "not in every run"


def _per_gradient_step(
    name: str, pairs: Sequence[tuple[Figures, Figures]], level: float, margin: float
) -> Judgement | None:
    def per_step(figure: Figures) -> float:
        steps = figure.work.get(GRADIENT_STEPS, 0.0)
        return figure.own.get(name, 0.0) / steps if steps else 0.0

    sides = ([per_step(a) for a, _ in pairs], [per_step(b) for _, b in pairs])
    logs = log_ratios(sides)
    if not any(map(math.isfinite, logs)):
        return None
    # Judged at the same level: it explains the phase's own verdict and is not another test.
    return judge(Paired(logs, level), level, margin, sides)


def responsible(comparison: Comparison) -> str | None:
    """The phase whose own time changed most in the direction in which the whole did.

    None if the whole did not change, or where no phase is clearly part of it.
    """
    direction = comparison.whole.verdict
    if direction not in (FASTER, SLOWER):
        return None
    sign = 1.0 if direction == FASTER else -1.0
    changes: dict[str, float] = {}
    for phase in comparison.phases:
        own = phase.own
        part_of_it = own.verdict == direction or own.why.startswith("only in")
        if part_of_it or phase.per_gradient_step is not None:
            changes[phase.name] = sign * ((own.first or 0.0) - (own.second or 0.0))
    largest = max(changes, key=lambda name: changes[name], default=None)
    return largest if largest is not None and changes[largest] > 0 else None
