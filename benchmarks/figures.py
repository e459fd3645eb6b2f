"""From runs to figures: ratios and differences within rounds, medians and their intervals.

A figure compares a run with the plain run that it alternated with, interval by interval, so that
other load on the machine affects both. Rounds that were disturbed are left out where
enough quiet ones are left; the machine's load decides which these are, never the figure itself.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.runs import Run, from_line

#: Quiet rounds that are enough to leave the disturbed ones out.
ENOUGH_QUIET = 3
#: The weight that is left out at either end of a run's stretches.
TRIMMED = 0.1
#: Resamples of a bootstrap.
RESAMPLES = 2000

Measure = Callable[[Run, Run], float]


@dataclass(frozen=True)
class Figure:
    """A median over rounds with its 95% interval, or why there is none."""

    middle: float = 0.0
    low: float = 0.0
    high: float = 0.0
    rounds: int = 0
    disturbed: int = 0
    #: Whether the disturbed rounds are in it.
    all_rounds: bool = False
    missing: str = ""


def interval(values: list[float]) -> tuple[float, float]:
    """A 95% percentile bootstrap of the median."""
    chance = random.Random(0)
    medians = sorted(
        statistics.median(chance.choices(values, k=len(values))) for _ in range(RESAMPLES)
    )
    return medians[RESAMPLES // 40], medians[-RESAMPLES // 40 - 1]


def figure(runs: Iterable[Run], program: str, peer: str, measure: Measure) -> Figure:
    """A measure of a peer's runs against the plain runs of the same rounds."""
    own = [run for run in runs if run.program == program]
    plain = {run.round: run for run in own if run.beside == peer and not run.failed}
    asked = [run for run in own if run.peer == peer]
    pairs = [(run, plain[run.round]) for run in asked if not run.failed and run.round in plain]
    if not pairs:
        why = [run.failed for run in asked if run.failed]
        return Figure(missing=why[-1] if why else "not measured")
    quiet = [pair for pair in pairs if not any(run.disturbed for run in pair)]
    used = quiet if len(quiet) >= ENOUGH_QUIET else pairs
    values = [measure(run, against) for run, against in used]
    low, high = interval(values)
    return Figure(
        statistics.median(values),
        low,
        high,
        len(values),
        len(pairs) - len(quiet),
        used is pairs and len(quiet) < len(pairs),
    )


def loop_ratio(run: Run, plain: Run) -> float:
    """How many times as long as the plain run's a stretch was."""
    return _typical(run.stretches, plain.stretches)


def cpu_ratio(run: Run, plain: Run) -> float:
    return _typical(run.cpu_stretches, plain.cpu_stretches)


def _typical(own: list[float], plain: list[float]) -> float:
    """The mean of the stretches' ratios, each as heavy as it is long, without a tenth of the weight
    at either end: one stall decides nothing, and what a profiler does now and then still counts."""
    ratios = sorted((one / other, one + other) for one, other in zip(own, plain, strict=True))
    whole = sum(weight for _, weight in ratios)
    passed = total = 0.0
    for ratio, weight in ratios:
        begin, passed = passed, passed + weight
        inside = min(passed, (1 - TRIMMED) * whole) - max(begin, TRIMMED * whole)
        total += ratio * max(inside, 0.0)
    return total / ((1 - 2 * TRIMMED) * whole)


def added_start(run: Run, plain: Run) -> float:
    """Seconds until the first environment step, beyond the plain program's."""
    return run.first_step_s - plain.first_step_s


def added_memory(run: Run, plain: Run) -> float:
    """Megabytes of resident memory up to the loop's end, beyond the plain program's."""
    return run.loop_mb - plain.loop_mb


def load(path: Path) -> list[Run]:
    """The runs in a file of results; a last line that was cut off is left out."""
    runs = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            runs.append(from_line(line))
        except (ValueError, TypeError):
            continue
    return runs
