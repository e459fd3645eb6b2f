"""Samples inside environments, in this process or in workers, on one scale."""

from __future__ import annotations

from dataclasses import dataclass

from hotloop.analyze.model import Analysis, Sample, seconds_of
from hotloop.analyze.processes.workers import split_steps
from hotloop.diagnose.evidence import (
    Match,
    Use,
    cores,
    samples_under,
    seconds_in,
    use_of,
    workers,
)

#: A smaller share of the loop is not analyzed: with 100 samples per second its own parts
#: would have a handful of samples.
SMALLEST_PART = 0.02


@dataclass
class InsideSteps:
    """Samples inside environments in any process, on the scale of the main loop."""

    samples: list[Sample]
    #: Seconds of the loop that the environments' own work takes.
    seconds: float
    scale: float

    def use(self, match: Match) -> Use:
        found = use_of(self.samples, match)
        found.seconds *= self.scale
        return found


def inside_steps(analysis: Analysis, *names: str) -> InsideSteps:
    """The samples of these environment phases in the main process or in its workers.

    Where workers step the environments, the main process waits for them: what they spend side by
    side is at most that wait.
    """
    phases = names or ("env.step",)
    seconds = seconds_in(analysis, *phases)
    processes: tuple[str, ...] = ("main",)
    names_of_workers = workers(analysis)
    if names_of_workers:
        processes = tuple(names_of_workers)
        busy = [seconds_in(analysis, *phases, process=name) for name in names_of_workers]
        split = split_steps(analysis.phases)
        waited = seconds_in(analysis, "env.step", "env.reset") or (split.step_s if split else 0.0)
        seconds = min(side_by_side(analysis, busy), waited)
    samples = [
        sample
        for sample in samples_under(analysis, *phases, processes=processes)
        if "evaluate" not in sample.phases
    ]
    sampled = seconds_of(samples)
    return InsideSteps(samples, seconds, seconds / sampled if sampled > 0 else 0.0)


def step_functions(analysis: Analysis) -> frozenset[str]:
    """The program's functions that step an environment, whatever they are called."""
    labels = (label for each in analysis.all_notes for label in each.shapes.get("env.step", ()))
    return frozenset(label.partition(":")[2] for label in labels)


def side_by_side(analysis: Analysis, busy: list[float]) -> float:
    """The time of work spread over processes, with the available cores."""
    at_once = min(len(busy), cores(analysis) or len(busy))
    return max(sum(busy) / at_once, max(busy))


def part_of(seconds: float, whole: float) -> float:
    """A share between 0 and 1."""
    return min(seconds / whole, 1.0) if whole > 0 else 0.0
