"""Returns of a run, over time, environment steps and gradient steps.

Episodes of workers count once. If the training process saw episodes end (it drives a vector
environment), those are the run's; otherwise those of its workers are. If a recorder below the
reward wrappers (`Monitor`, `RecordEpisodeStatistics`) recorded returns, or hotloop added up the
rewards below them, the report shows these, together with the shaped return that the program learns
from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from hotloop.analyze.over_time.series import MOST_POINTS
from hotloop.analyze.timeline import offset_s, split_timeline
from hotloop.capture import schema
from hotloop.capture.episodes import EVALUATION, RAW, TRAINING, TRAINING_RAW, all_of
from hotloop.capture.episodes import EpisodeDelta as EpisodeDelta
from hotloop.capture.reader import Capture, Shard
from hotloop.capture.window import Window

#: The part of the loop whose mean return is the headline.
LAST_PART = 0.1
#: As `native/returns.c` has it: the mean of this many episodes is compared with a target.
RECENT = 100
#: Raw and shaped returns that differ by less than this part are the same: sums of 32-bit rewards
#: differ by about 1e-5.
SAME = 1e-4
#: Gymnasium and Stable-Baselines3's `Monitor` round returns to six decimals.
ROUNDED = 1e-6


@dataclass(frozen=True)
class ReturnPoint:
    """Episodes that ended in a part of the loop; seconds since the loop began."""

    end_s: float
    #: Made by its end.
    env_steps: float
    gradient_steps: float
    delta: EpisodeDelta

    @property
    def mean(self) -> float:
        return self.delta.mean or 0.0


@dataclass(frozen=True)
class Reached:
    """When a return was reached: since the loop began."""

    seconds: float
    env_steps: float
    gradient_steps: float


@dataclass(frozen=True)
class _Moment:
    """How far the loop was at the end of a window, and the best mean return so far."""

    seconds: float
    env_steps: float
    gradient_steps: float
    best: float | None = None
    #: When that was reached; at the latest at the end of the window.
    best_s: float = 0.0


@dataclass
class RunReturns:
    """Returns of one run."""

    training: EpisodeDelta = field(default_factory=EpisodeDelta)
    evaluation: EpisodeDelta = field(default_factory=EpisodeDelta)
    #: The returns that the program learned from, if they differ from `training`.
    shaped: EpisodeDelta | None = None
    points: list[ReturnPoint] = field(default_factory=list)
    evaluations: list[ReturnPoint] = field(default_factory=list)
    #: Mean return over the last tenth of the loop.
    last: float | None = None
    last_length: float | None = None
    evaluation_last: float | None = None
    #: Highest mean of 100 episodes.
    best: float | None = None
    #: Whether wrappers change the rewards, and those of the environments are not seen.
    only_shaped: bool = False
    #: Why there are no returns; empty if there are.
    why_none: str = ""
    moments: list[_Moment] = field(default_factory=list)

    def reached(self, target: float) -> Reached | None:
        """When the mean return of 100 episodes first reached the target; None if never."""
        before = _Moment(0.0, 0.0, 0.0)
        for moment in self.moments:
            if moment.best is not None and moment.best >= target:
                return _between(before, moment, target)
            before = moment
        return None

    def at_steps(self, env_steps: float) -> float | None:
        """Mean return over the last tenth of the first `env_steps` steps; None if none ended."""
        total = EpisodeDelta()
        for point in reversed([each for each in self.points if each.env_steps <= env_steps]):
            if total.episodes and point.env_steps <= (1 - LAST_PART) * env_steps:
                break
            total.add(point.delta)
        return total.mean


def _between(before: _Moment, after: _Moment, target: float) -> Reached:
    """Interpolate the best mean between two windows."""
    assert after.best is not None
    first_s = before.best_s if before.best is not None else before.seconds
    share = 1.0
    if before.best is not None and after.best > before.best:
        share = (target - before.best) / (after.best - before.best)
    seconds = min(max(first_s + share * (after.best_s - first_s), before.seconds), after.seconds)
    length = after.seconds - before.seconds
    part = (seconds - before.seconds) / length if length > 0 else 1.0
    return Reached(
        seconds,
        before.env_steps + part * (after.env_steps - before.env_steps),
        before.gradient_steps + part * (after.gradient_steps - before.gradient_steps),
    )


def find_returns(capture: Capture, loop: Sequence[Window]) -> RunReturns:
    """The returns of a run whose loop is these windows of the main process."""
    kinds = [TRAINING, EVALUATION]
    by_window = {kind: _episodes(capture, loop, kind) for kind in (*kinds, *RAW.values())}
    shaped = all_of({"": each} for each in by_window[TRAINING] if each).get("")
    changed = any(window.gauges.get(schema.REWARDS_CHANGED) for window in loop)
    if changed and not any(by_window[TRAINING_RAW]) and not any(by_window[EVALUATION]):
        # Worker processes step the environments, and see the rewards that these return.
        by_window[TRAINING_RAW] = _episodes(capture, loop, TRAINING, of_workers=True)
    used = {
        kind: by_window[RAW[kind]] if any(by_window[RAW[kind]]) else by_window[kind]
        for kind in kinds
    }
    found = RunReturns(
        training=_sum(used[TRAINING]),
        evaluation=_sum(used[EVALUATION]),
        points=_points(loop, used[TRAINING]),
        evaluations=_points(loop, used[EVALUATION]),
        moments=_moments(loop, used[TRAINING]),
        only_shaped=changed and not any(by_window[TRAINING_RAW]),
    )
    last = _last_part(loop, used[TRAINING])
    found.last, found.last_length = last.mean, last.mean_length
    found.evaluation_last = _last_part(loop, used[EVALUATION]).mean
    found.best = max((m.best for m in found.moments if m.best is not None), default=None)
    if shaped is not None and shaped.mean is not None and found.training.mean is not None:
        differs = abs(shaped.mean - found.training.mean)
        # Not relative to the mean: returns of both signs may cancel out.
        if differs > SAME * max(_size(shaped), _size(found.training)) + ROUNDED:
            found.shaped = shaped
    if not found.training.episodes:
        found.why_none = _why_none(capture, found.training)
    return found


def _sum(windows: Sequence[EpisodeDelta | None]) -> EpisodeDelta:
    total = EpisodeDelta()
    for each in windows:
        if each is not None:
            total.add(each)
    return total


def _size(delta: EpisodeDelta) -> float:
    """The root mean square of the returns."""
    return math.sqrt(max(delta.squares, 0.0) / delta.episodes)


def _why_none(capture: Capture, training: EpisodeDelta) -> str:
    main = capture.main
    shards = capture.shards
    counted = [
        sum(window.counters.get(name, 0.0) for shard in shards for window in shard.windows)
        for name in (schema.ENV_STEPS, schema.EPISODES)
    ]
    if main.header.native is False:
        return "returns are recorded by the native module, which is not in use"
    if not counted[0]:
        return "no environment step was recorded"
    if training.unknown:
        return "no reward could be read as a number"
    if counted[1]:
        return "the rewards stay on the device or in compiled code, where reading them would wait"
    return "no episode ended, or none whose end can be seen"


# -- which process's episodes --


def _episodes(
    capture: Capture, loop: Sequence[Window], kind: str, of_workers: bool = False
) -> list[EpisodeDelta | None]:
    """Episodes of a kind per window of the loop; the main process's, if it has any."""
    main, others = capture.main, capture.shards[1:]
    found: list[EpisodeDelta | None] = [
        None if of_workers else window.episodes.get(kind) for window in loop
    ]
    beside = main.notes.trains_beside
    if beside:
        others = [shard for shard in others if shard.role in beside]
    elif any(found):
        return found
    for shard in others:
        for index, delta in _in_windows_of(main, loop, shard, kind):
            found[index] = all_of([{kind: found[index] or EpisodeDelta()}, {kind: delta}])[kind]
    return found


def _in_windows_of(
    main: Shard, loop: Sequence[Window], shard: Shard, kind: str
) -> list[tuple[int, EpisodeDelta]]:
    """Another process's episodes, each with the index of the main one's window that it fell in."""
    later_ns = int(offset_s(shard, main) * 1e9)
    placed: list[tuple[int, EpisodeDelta]] = []
    index = 0
    for window in split_timeline(shard.windows).loop:
        delta = window.episodes.get(kind)
        while index < len(loop) - 1 and loop[index].end_ns < window.end_ns + later_ns:
            index += 1
        if delta is not None and loop:
            placed.append((index, delta))
    return placed


# -- over the run --


def _progress(loop: Sequence[Window]) -> list[_Moment]:
    """Seconds, environment steps and gradient steps at the end of each window."""
    found: list[_Moment] = []
    steps = updates = 0.0
    for window in loop:
        steps += window.counters.get(schema.ENV_STEPS, 0.0)
        updates += window.counters.get(schema.GRADIENT_STEPS, 0.0)
        found.append(_Moment((window.end_ns - loop[0].begin_ns) / 1e9, steps, updates))
    return found


def _points(loop: Sequence[Window], windows: list[EpisodeDelta | None]) -> list[ReturnPoint]:
    shortest_s = (loop[-1].end_ns - loop[0].begin_ns) / 1e9 / MOST_POINTS if loop else 0.0
    found: list[ReturnPoint] = []
    waiting, begin_s = EpisodeDelta(), 0.0
    for at, delta in zip(_progress(loop), windows, strict=True):
        if delta is not None:
            waiting.add(delta)
        if waiting.episodes and at.seconds - begin_s >= shortest_s * 0.99:
            found.append(ReturnPoint(at.seconds, at.env_steps, at.gradient_steps, waiting))
            waiting, begin_s = EpisodeDelta(), at.seconds
    return found


def _last_part(loop: Sequence[Window], windows: list[EpisodeDelta | None]) -> EpisodeDelta:
    """Episodes of the last tenth of the loop, or of more if none ended there."""
    total = EpisodeDelta()
    if not loop:
        return total
    begin_ns = loop[-1].end_ns - LAST_PART * (loop[-1].end_ns - loop[0].begin_ns)
    for window, delta in zip(reversed(loop), reversed(windows), strict=True):
        if window.end_ns <= begin_ns and total.episodes:
            break
        if delta is not None:
            total.add(delta)
    return total


def _moments(loop: Sequence[Window], windows: list[EpisodeDelta | None]) -> list[_Moment]:
    """The best mean of 100 episodes so far, as the process recorded it or as windows show it."""
    progress = _progress(loop)
    origin_s = loop[0].begin_ns / 1e9 if loop else 0.0
    recorded = any(schema.RETURN_BEST in window.gauges for window in loop)
    best: float | None = None
    best_s = 0.0
    found: list[_Moment] = []
    for index, (window, at) in enumerate(zip(loop, progress, strict=True)):
        if recorded:
            best = window.gauges.get(schema.RETURN_BEST, best)
            when = window.gauges.get(schema.RETURN_BEST_S, at.seconds + origin_s) - origin_s
            best_s = min(max(when, 0.0), at.seconds)
        else:
            mean = _recent_mean(windows[: index + 1])
            if mean is not None and (best is None or mean > best):
                best, best_s = mean, at.seconds
        found.append(_Moment(at.seconds, at.env_steps, at.gradient_steps, best, best_s))
    return found


def _recent_mean(windows: list[EpisodeDelta | None]) -> float | None:
    total = EpisodeDelta()
    for delta in reversed(windows):
        if delta is not None:
            total.add(delta)
        if total.episodes >= RECENT:
            break
    return total.mean if total.episodes >= RECENT else None
