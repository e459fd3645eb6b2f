"""A claim compared with the measurement: confirmed, refuted or open; and the goal."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from hotloop.analyze.comparing.judgement import FASTER, SAME, SLOWER, Judgement
from hotloop.analyze.comparing.judgement import UNKNOWN as UNKNOWN
from hotloop.analyze.comparing.statistics import ALPHA, Interval, Paired

CONFIRMED = "confirmed"
REFUTED = "refuted"
#: For a skipped phase: the gain without it is the most that any work on it can gain.
CEILING = "a ceiling"
FAILED = "could not be tried"

#: "2x" without a range means about twice: within a fifth either way.
ABOUT = 1.2

#: The probability of a claim before it is tried, by its author's confidence.
CONFIDENCES = {"high": 0.8, "medium": 0.5, "low": 0.2}

#: Names for the slope of time over delay, and their ranges. A phase on the critical
#: path passes each delay on; one that is hidden behind others passes on none.
SLOPES = {"critical": (0.75, 1.25), "hidden": (-0.25, 0.25)}
#: A slope with a wider interval is unknown.
SLOPE_WIDTH = 0.35

_NUMBER = r"(\d+(?:\.\d+)?)\s*x?"
_RANGE = re.compile(rf"{_NUMBER}\s*(?:-|–|to)\s*{_NUMBER}")  # noqa: RUF001
_BOUND = re.compile(rf"(<|>|<=|>=|at least|at most|below|above)\s*{_NUMBER}")


@dataclass(frozen=True)
class Expected:
    """The expected range of a gain or a slope."""

    low: float
    high: float


@dataclass(frozen=True)
class ClaimVerdict:
    """The verdict on a claim."""

    verdict: str
    why: str
    #: The measured gain, or for a delay the slope.
    measured: Interval | None = None


def parse_gain(text: str) -> Expected:
    """`2x`, `2-3x`, `2x to 3x`, `<1.1x`, `>5x`; a ValueError says that it is none of them."""
    text = text.strip().lower()
    if match := _RANGE.fullmatch(text):
        low, high = float(match[1]), float(match[2])
    elif match := _BOUND.fullmatch(text):
        below = match[1] in ("<", "<=", "at most", "below")
        low, high = (1.0, float(match[2])) if below else (float(match[2]), math.inf)
    elif match := re.fullmatch(_NUMBER, text):
        low, high = float(match[1]) / ABOUT, float(match[1]) * ABOUT
    else:
        raise ValueError(text)
    if not 0 < low <= high:
        raise ValueError(text)
    return Expected(low, high)


def parse_slope(text: str) -> Expected:
    """`critical`, `hidden`, or a range such as `0.5 to 1`."""
    text = text.strip().lower()
    if text in SLOPES:
        return Expected(*SLOPES[text])
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:-|to)\s*(\d+(?:\.\d+)?)", text)
    if match is None or float(match[1]) > float(match[2]):
        raise ValueError(text)
    return Expected(float(match[1]), float(match[2]))


def judge_gain(expected: Expected, whole: Judgement, margin: float) -> ClaimVerdict:
    """Judge a claim about the overall speedup by the measured ratio."""
    if whole.estimate is None or whole.low is None or whole.high is None:
        return ClaimVerdict(UNKNOWN, "too few pairs")
    measured = Interval(whole.estimate, whole.low, whole.high)
    if expected.low <= 1.0:
        return _judge_little(expected, measured, margin)
    if whole.high < expected.low:
        if whole.verdict == FASTER:
            return ClaimVerdict(REFUTED, "it helps, but less than expected", measured)
        what = {SLOWER: "it is slower", SAME: "it makes no difference"}.get(whole.verdict, "")
        return ClaimVerdict(REFUTED, what or "it helps less than expected, if at all", measured)
    if whole.verdict == FASTER:
        more = whole.low > expected.high
        return ClaimVerdict(CONFIRMED, "and more than expected" if more else "", measured)
    return ClaimVerdict(UNKNOWN, "the expected gain and none at all are both possible", measured)


def as_ceiling(verdict: ClaimVerdict) -> ClaimVerdict:
    """The same for a skipped phase: the measurement is a limit and confirms no fix."""
    if verdict.verdict != CONFIRMED or verdict.measured is None:
        return verdict
    return ClaimVerdict(
        CEILING, "no fix of it can gain more; skipping it is not a fix", verdict.measured
    )


def _judge_little(expected: Expected, measured: Interval, margin: float) -> ClaimVerdict:
    """A claim that something matters little."""
    limit = max(expected.high, 1.0 + margin)
    if measured.low > limit:
        return ClaimVerdict(REFUTED, "it matters more than expected", measured)
    if measured.high <= limit:
        return ClaimVerdict(CONFIRMED, "", measured)
    return ClaimVerdict(UNKNOWN, "it may matter more than expected", measured)


def is_settled(expected: Expected, whole: Judgement, margin: float) -> bool:
    """Whether more pairs would not change the verdict on the claim."""
    finding = judge_gain(expected, whole, margin)
    return finding.verdict in (CONFIRMED, REFUTED) and (
        whole.is_clear or finding.verdict == REFUTED
    )


# -- delays --


def slope(delays: Sequence[float], times: Sequence[float]) -> float:
    """How much of an added delay shows up in the whole, from one round of runs.

    The first of the round is without delay; least squares through it.
    """
    x = [delay - delays[0] for delay in delays[1:]]
    y = [time - times[0] for time in times[1:]]
    spread = math.fsum(d * d for d in x)
    return math.fsum(d * t for d, t in zip(x, y, strict=True)) / spread if spread > 0 else math.nan


def judge_slope(expected: Expected, slopes: Sequence[float]) -> ClaimVerdict:
    """Judge a claim about how much a phase matters by the slopes of some rounds."""
    interval = Paired(slopes).interval(ALPHA)
    if not math.isfinite(interval.half):
        return ClaimVerdict(UNKNOWN, "too few rounds")
    where = "on the critical path" if interval.estimate > 0.5 else "mostly hidden behind others"
    if interval.high < expected.low or interval.low > expected.high:
        return ClaimVerdict(REFUTED, f"it is {where}", interval)
    if interval.half <= SLOPE_WIDTH:
        return ClaimVerdict(CONFIRMED, f"it is {where}", interval)
    return ClaimVerdict(UNKNOWN, "the slope is not known well enough", interval)


# -- the goal --


def goal_met(goal: float, whole: Judgement | None) -> str:
    """Whether the whole became this many times faster: "met", "not met" or "cannot tell"."""
    if whole is None:
        return "not met"
    if whole.low is not None and whole.low >= goal:
        return "met"
    if whole.high is not None and whole.high < goal:
        return "not met"
    return UNKNOWN


def priority(expected: Expected, confidence: str, runs: int = 2, is_slope: bool = False) -> float:
    """Most likely and cheapest first: probability per unit of time.

    A round costs one run as it is and, for each change, one that is as much shorter as the change
    is expected to make it.
    """
    if is_slope:
        return CONFIDENCES[confidence] / runs
    gain = math.sqrt(expected.low * min(expected.high, 4 * expected.low))
    return CONFIDENCES[confidence] / (1.0 + (runs - 1) / max(gain, 1.0))
