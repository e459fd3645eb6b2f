"""Phases and functions as plain stacks with weights, as tools of other profilers read them."""

from __future__ import annotations

from dataclasses import dataclass

from hotloop.analyze.model import Analysis, Frame, Sample, of_main_thread, seconds_of
from hotloop.phases import NO_PHASE_LABEL, names_of


@dataclass(frozen=True)
class WeightedStack:
    """A stack of phases, the functions seen inside the innermost, and the time that was there."""

    path: str
    #: From the outside in.
    phases: tuple[str, ...]
    #: From the outside in.
    frames: tuple[Frame, ...]
    seconds: float


def weighted_stacks(analysis: Analysis, process: str = "main") -> list[WeightedStack]:
    """Every stack of a process's main thread in its loop; they add up to its exact phases.

    Functions are sampled: each phase's own time is shared out among the stacks seen in it. A phase
    in which none was seen is a stack without functions.
    """
    own = {p.path: p.self_s for p in of_main_thread(analysis.phases, process)}
    if process == "main":
        own[""] = analysis.outside_s
    seen: dict[str, list[Sample]] = {}
    for sample in analysis.samples:
        if sample.process == process and sample.path in own and sample.seconds > 0:
            seen.setdefault(sample.path, []).append(sample)
    stacks: list[WeightedStack] = []
    for path, self_s in own.items():
        if self_s <= 0:
            continue
        names = tuple(names_of(path)) or (NO_PHASE_LABEL,)
        samples = seen.get(path, [])
        sampled_s = seconds_of(samples)
        if not samples:
            stacks.append(WeightedStack(path, names, (), self_s))
        for sample in samples:
            seconds = sample.seconds * self_s / sampled_s
            stacks.append(WeightedStack(path, names, sample.frames[::-1], seconds))
    return stacks
