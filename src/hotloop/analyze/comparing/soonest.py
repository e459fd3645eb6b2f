"""Which of several settings reaches a return soonest, and which trade speed for learning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from hotloop.analyze.comparing.time_to_return import (
    LEVEL,
    Attempt,
    Factor,
    factor_of,
    iqm_interval,
    median_of,
)


@dataclass
class Soonest:
    """Settings that were run until a return was reached, over the same seeds."""

    names: tuple[str, ...]
    commands: tuple[str, ...]
    target: float
    folder: str
    attempts: tuple[list[Attempt], ...]
    equal_steps: float = 0.0
    #: The setting that reaches the target soonest; None if none reached it.
    best: int | None = None
    #: How many times sooner that is than each setting; None for itself.
    sooner: list[Factor | None] = field(default_factory=list)
    #: Settings that no other one beats in both steps per second and return after equal steps;
    #: empty if a return is not known.
    front: list[int] = field(default_factory=list)
    #: Interquartile mean of the returns after equal steps, with its interval, per setting; None
    #: if no episode ended in a window before.
    returns: list[tuple[float, float, float] | None] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    interrupted: bool = False


def judge_all(result: Soonest) -> None:
    """Derive the results from the attempts."""
    if not result.attempts or not result.attempts[0]:
        return
    for side in result.attempts:
        known = [each.at_equal_steps for each in side if each.at_equal_steps is not None]
        result.returns.append(iqm_interval(known) if known else None)
    speeds = [median(each.steps_per_s for each in side) for side in result.attempts]
    means = [each[0] for each in result.returns if each is not None]
    if len(means) == len(speeds):
        result.front = pareto_front(list(zip(speeds, means, strict=True)))
    times = [[(a.seconds, a.reached) for a in side] for side in result.attempts]
    medians = [(not reached, at) for at, reached in map(median_of, times)]
    reached = [sum(is_in for _, is_in in side) for side in times]
    if not any(reached):
        return
    best = min(range(len(times)), key=lambda n: (medians[n][0], -reached[n], medians[n][1]))
    # The best was chosen from the same runs: as strict as if all settings were compared.
    comparisons = len(times) * (len(times) - 1) / 2
    result.best = best
    result.sooner = [
        None
        if number == best
        else factor_of(list(zip(side, times[best], strict=True)), LEVEL / comparisons)
        for number, side in enumerate(times)
    ]


def pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Which points no other one beats: at least as good in both, and better in one."""
    return [
        number
        for number, (x, y) in enumerate(points)
        if not any(a >= x and b >= y and (a > x or b > y) for a, b in points)
    ]
