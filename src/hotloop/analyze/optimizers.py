"""Learning by optimizer, in programs with several."""

from __future__ import annotations

from dataclasses import dataclass

from hotloop.analyze.model import Analysis
from hotloop.capture.schema import OPTIMIZER_NS, OPTIMIZER_STEPS
from hotloop.phases import REGION_LEARNS, flags_of


@dataclass(frozen=True)
class OptimizerUse:
    """One optimizer, by the name that the program gives it."""

    name: str
    steps: int
    #: Forward passes, losses, backward passes and steps since the optimizer before it.
    seconds: float
    share: float


def optimizers(analysis: Analysis) -> list[OptimizerUse]:
    """The optimizers of a program with several, the one with the most time first.

    While calls are not measured their times are not counted either, so the learning time of the
    loop is distributed in proportion.
    """
    counters = analysis.run.counters
    steps = {
        name.removeprefix(OPTIMIZER_STEPS): int(n)
        for name, n in counters.items()
        if name.startswith(OPTIMIZER_STEPS)
    }
    counted = {name: counters.get(OPTIMIZER_NS + name, 0.0) for name in steps}
    if len(steps) < 2 or not sum(counted.values()):
        return []
    learning = sum(p.loop_self_s for p in analysis.training_phases if _learns(p.name))
    scale = learning / sum(counted.values())
    found = [
        OptimizerUse(name, n, counted[name] * scale, analysis.run.share(counted[name] * scale))
        for name, n in steps.items()
    ]
    return sorted(found, key=lambda each: -each.seconds)


def _learns(name: str) -> bool:
    return bool(flags_of(name) & REGION_LEARNS)
