"""The cost of an environment step over the run, by phase, and when it settled."""

from __future__ import annotations

from statistics import fmean

from hotloop.analyze.over_time.series import SeriesPoint
from hotloop.analyze.sums import summed
from hotloop.analyze.timeline import LOOP
from hotloop.phases import NO_PHASE, NO_PHASE_LABEL

#: Parts of equal numbers of steps: each still holds many windows, and a trend needs no more.
MOST_PARTS = 60


def per_step(run: list[SeriesPoint], iterations: float = 0.0) -> list[SeriesPoint]:
    """Split the loop into parts of about equal numbers of environment steps.

    An algorithm that collects and learns in turns has windows with steps and no learning and the
    other way round. No part may hold fewer than two of its `iterations`.
    """
    loop = [point for point in run if point.part == LOOP]
    steps = sum(point.steps for point in loop)
    most = min(MOST_PARTS, max(len(loop) // 3, 1))
    if iterations:
        most = min(most, int(iterations / 2))
    if steps <= 0:
        return []
    enough = steps / max(most, 1)
    parts: list[SeriesPoint] = []
    for point in loop:
        if parts and parts[-1].steps < enough:
            parts[-1].add(point)
        else:
            parts.append(point.copy())
    if len(parts) > 1 and parts[-1].steps < enough / 2:
        last = parts.pop()
        parts[-1].add(last)
    return parts


#: A point belongs to learning if learning is at least this share of it.
MOSTLY = 0.5
#: From this share of such points on, a program collects and learns in turns.
IN_TURNS = 0.1


def throughput(run: list[SeriesPoint]) -> list[SeriesPoint]:
    """The loop in parts whose steps per second can be compared.

    A program that collects and learns in turns makes no step while it learns: there a part is an
    iteration, from the first steps of a rollout to the end of the learning that follows it.
    """
    loop = [point for point in run if point.part == LOOP]
    learns = [_is_learning(point) for point in loop]
    if sum(learns) < IN_TURNS * len(loop):
        return loop
    found: list[SeriesPoint] = []
    for index, point in enumerate(loop):
        begins = index == 0 or (learns[index - 1] and not learns[index])
        if begins:
            found.append(point.copy())
        else:
            found[-1].add(point)
    if len(found) > 1 and not learns[-1]:
        found.pop()  # a rollout without its learning would look faster than it is
    return found


def _is_learning(point: SeriesPoint) -> bool:
    own = sum(seconds for name, seconds in point.own.items() if name.startswith("learn"))
    return not point.steps and own >= MOSTLY * point.seconds > 0


#: The name for the rest besides the largest phases.
OTHER_PHASES = "other phases"


def bands(run: list[SeriesPoint], known: dict[str, str], most: int) -> dict[str, list[float]]:
    """Own seconds at each point: of the phases that take the most, of the rest, and in no phase.

    `known` maps phases to categories; phases of one category stay together.
    """
    totals = summed(item for point in run for item in point.own.items())
    largest = sorted((n for n in totals if n in known), key=lambda n: -totals[n])[:most]
    order = list(known.values())
    largest.sort(key=lambda name: order.index(known[name]))
    found = {name: [point.own.get(name, 0.0) for point in run] for name in largest}
    found[OTHER_PHASES] = [
        sum(seconds for name, seconds in point.own.items() if name and name not in found)
        for point in run
    ]
    found[NO_PHASE_LABEL] = [point.own.get(NO_PHASE, 0.0) for point in run]
    return found


def per_step_bands(parts: list[SeriesPoint], names: list[str]) -> dict[str, list[float]]:
    """Seconds per environment step of these bands, as `bands` named them."""
    rest = {name for name in names if name not in (OTHER_PHASES, NO_PHASE_LABEL)}
    found: dict[str, list[float]] = {name: [] for name in names}
    for point in parts:
        for name in names:
            if name == OTHER_PHASES:
                own = sum(s for each, s in point.own.items() if each and each not in rest)
            else:
                own = point.own.get(NO_PHASE if name == NO_PHASE_LABEL else name, 0.0)
            found[name].append(own / point.steps if point.steps > 0 else 0.0)
    return found


#: A start that differs by less from the rest is not worth a mark.
NOTABLE_WARM_UP = 0.10
#: Too few parts to separate a warm-up from noise.
FEWEST_PARTS = 8


def warm_up(parts: list[SeriesPoint]) -> float | None:
    """When the cost of a step had settled, in seconds; None if it was steady from the start.

    MSER (White 1997, "An effective truncation heuristic for bias reduction in simulation output"):
    cut where the standard error of the rest is smallest, in the first half.
    """
    costs = [point.wall_s / point.steps for point in parts if point.steps > 0]
    if len(costs) < FEWEST_PARTS or len(costs) != len(parts):
        return None
    cut = min(range(len(costs) // 2 + 1), key=lambda first: _squared_error(costs[first:]))
    if cut == 0:
        return None
    before, after = fmean(costs[:cut]), fmean(costs[cut:])
    return parts[cut - 1].end_s if before > after * (1 + NOTABLE_WARM_UP) else None


def _squared_error(costs: list[float]) -> float:
    mean = fmean(costs)
    return sum((cost - mean) ** 2 for cost in costs) / len(costs) ** 2
