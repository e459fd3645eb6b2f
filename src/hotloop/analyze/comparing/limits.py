"""Limits on training time: kept, broken, or too close to tell.

Shares are judged by the windows of the run, speeds by its comparison with a baseline, both with the
intervals of `statistics`. A limit is broken only if the whole interval is beyond it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from hotloop.analyze.comparing.compare import WARM_UP, Comparison
from hotloop.analyze.comparing.judgement import NOT_COMPARABLE, Judgement
from hotloop.analyze.comparing.statistics import ALPHA, Independent, block_bootstrap, block_length
from hotloop.analyze.comparing.unpaired import FEWEST_WINDOWS, RUN_TO_RUN
from hotloop.analyze.model import Analysis
from hotloop.analyze.over_time.series import RunSeries, common_unit

KEPT, BROKEN, UNKNOWN = "kept", "broken", "cannot tell"
SHARE, SPEED, TIME = "share", "speed", "time"


@dataclass(frozen=True)
class LimitCheck:
    """One limit, and how a run compares with it."""

    #: A phase's share, the training's speed, or a phase's time compared with the baseline's.
    kind: str
    phase: str
    verdict: str
    limit: float
    #: The figure and its interval; None if unknown.
    value: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""


def check_shares(analysis: Analysis, limits: Mapping[str, float]) -> list[LimitCheck]:
    """Whether phases take at most these shares of the training loop, with all that is in them."""
    run = RunSeries(analysis)
    unit = common_unit([run])
    windows = run.points
    if unit is not None:
        last = run.reached(unit)
        windows = run.between(unit, WARM_UP * last, last)
    enough = len(windows) >= FEWEST_WINDOWS
    why = f"too short: {len(windows)} windows after the warm-up, {FEWEST_WINDOWS} are needed"
    windows = windows if enough else run.points
    checks = []
    for phase, limit in limits.items():
        times = [window.total.get(phase, 0.0) for window in windows]
        whole = [window.seconds for window in windows]
        if not any(times):
            checks.append(LimitCheck(SHARE, phase, KEPT, limit, 0.0))
            continue
        share = sum(times) / sum(whole)
        if not enough:
            checks.append(LimitCheck(SHARE, phase, UNKNOWN, limit, share, why=why))
            continue
        blocks = len(windows) // block_length(len(windows))
        side = (math.log(share), block_bootstrap(whole, times), blocks)
        # Beside a fixed number; all limits of a run together may give one false alarm in 1/ALPHA.
        evidence = Independent(side, (0.0, 0.0, blocks), RUN_TO_RUN)
        found = evidence.interval(ALPHA / len(limits))
        low, high = _exp(found.low), _exp(found.high)
        checks.append(LimitCheck(SHARE, phase, _at_most(limit, low, high), limit, share, low, high))
    return checks


def check_speed(comparison: Comparison, least: float) -> LimitCheck:
    """Whether the second is at least this many times as fast as the first."""
    whole = comparison.whole
    if whole.verdict == NOT_COMPARABLE:
        return LimitCheck(SPEED, "", UNKNOWN, least, why=whole.why)
    low, high = _bounds(whole)
    verdict = KEPT if low >= least else BROKEN if high < least else UNKNOWN
    return LimitCheck(SPEED, "", verdict, least, whole.estimate, low, high)


def check_phase(comparison: Comparison, phase: str, most: float) -> LimitCheck:
    """Whether a phase's own time per step is at most this multiple of the first run's."""
    found = next((each.own for each in comparison.phases if each.name == phase), None)
    if found is None:
        return LimitCheck(TIME, phase, KEPT, most, why="in neither run")
    for judgement in (comparison.whole, found):
        if judgement.verdict == NOT_COMPARABLE or not judgement.estimate:
            return LimitCheck(TIME, phase, UNKNOWN, most, why=judgement.why)
    low, high = (1.0 / bound if bound else math.inf for bound in reversed(_bounds(found)))
    value = 1.0 / found.estimate if found.estimate else None
    return LimitCheck(TIME, phase, _at_most(most, low, high), most, value, low, high)


def _bounds(judgement: Judgement) -> tuple[float, float]:
    low = judgement.low if judgement.low is not None else 0.0
    return low, judgement.high if judgement.high is not None else math.inf


def _at_most(limit: float, low: float, high: float) -> str:
    if low > limit:
        return BROKEN
    return KEPT if high <= limit else UNKNOWN


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
