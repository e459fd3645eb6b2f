"""Episodes that ended in a window: their returns and lengths as a distribution.

A return is the sum of an episode's rewards. `native/distribution.c` adds episodes up; its layout of
the histogram is read here: 16 linear steps per power of two for either sign, so a quantile is
within 3% of its magnitude.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hotloop import histogram

#: Episodes of the training and of evaluations, as `step` returned their rewards.
TRAINING: Final = "training"
EVALUATION: Final = "evaluation"
#: The same below the reward wrappers, from `Monitor`, `RecordEpisodeStatistics` or the rewards.
TRAINING_RAW: Final = "training_raw"
EVALUATION_RAW: Final = "evaluation_raw"
#: As the native module numbers them.
KINDS: Final = (TRAINING, EVALUATION, TRAINING_RAW, EVALUATION_RAW)
RAW: Final = {TRAINING: TRAINING_RAW, EVALUATION: EVALUATION_RAW}

RETURN_STEPS: Final = 16
#: Exponent of the first octave, as `math.frexp` counts.
RETURN_LOWEST: Final = -31
#: The bucket of 0.
RETURN_ZERO: Final = 1024

#: Fields of a row before its histogram.
_FIELDS: Final = 9


@dataclass(slots=True)
class EpisodeDelta:
    """Episodes of one kind that ended during a window."""

    episodes: int = 0
    #: Episodes whose return is not a finite number, or could not be read. Not part of the rest.
    unknown: int = 0
    sum: float = 0.0
    squares: float = 0.0
    low: float = 0.0
    high: float = 0.0
    length_sum: int = 0
    length_low: int = 0
    length_high: int = 0
    buckets: dict[int, int] = field(default_factory=dict)

    def add(self, other: EpisodeDelta) -> None:
        """Add what ended later, or in another process."""
        if other.episodes:
            first = not self.episodes
            self.low = other.low if first else min(self.low, other.low)
            self.high = other.high if first else max(self.high, other.high)
            shortest = min(self.length_low, other.length_low)
            self.length_low = other.length_low if first else shortest
            self.length_high = max(self.length_high, other.length_high)
        self.episodes += other.episodes
        self.unknown += other.unknown
        self.sum += other.sum
        self.squares += other.squares
        self.length_sum += other.length_sum
        histogram.add_into(self.buckets, other.buckets)

    @property
    def mean(self) -> float | None:
        return self.sum / self.episodes if self.episodes else None

    @property
    def mean_length(self) -> float | None:
        return self.length_sum / self.episodes if self.episodes else None

    @property
    def deviation(self) -> float | None:
        """Standard deviation of the returns."""
        if not self.episodes:
            return None
        mean = self.sum / self.episodes
        return math.sqrt(max(self.squares / self.episodes - mean * mean, 0.0))

    def quantile(self, share: float) -> float | None:
        """The return below which `share` of the episodes fall; None without any."""
        found = histogram.quantile(self.buckets, share, middle_of)
        return None if found is None else min(max(found, self.low), self.high)

    def row(self) -> list[Any]:
        """The row of a capture."""
        return [self.episodes, self.unknown, self.sum, self.squares, self.low, self.high,
                self.length_sum, self.length_low, self.length_high,
                histogram.encode(self.buckets)]  # fmt: skip


def middle_of(bucket: int) -> float:
    """The return in the middle of a bucket."""
    if bucket == RETURN_ZERO:
        return 0.0
    octave, step = divmod(abs(bucket - RETURN_ZERO), RETURN_STEPS)
    magnitude = math.ldexp((1 + (step + 0.5) / RETURN_STEPS) / 2, octave + RETURN_LOWEST)
    return math.copysign(magnitude, bucket - RETURN_ZERO)


def from_row(row: list[Any]) -> EpisodeDelta:
    """From a row of the capture; ValueError or TypeError where it is damaged."""
    counts, returns, lengths = row[:2], row[2:6], row[6:_FIELDS]
    for count in (*counts, *lengths):
        if type(count) is not int or count < 0:
            raise ValueError("not a number of episodes")
    total, squares, low, high = (float(value) for value in returns)
    if not all(map(math.isfinite, (total, squares, low, high))):
        raise ValueError("not a return")
    buckets = histogram.decode(row[_FIELDS])
    return EpisodeDelta(
        counts[0], counts[1], total, squares, low, high, lengths[0], lengths[1], lengths[2], buckets
    )


def taken(rows: Mapping[int, tuple[Any, ...]]) -> dict[str, EpisodeDelta]:
    """Counts of the native module since the last window, by kind."""
    return {KINDS[kind]: EpisodeDelta(*row) for kind, row in rows.items()}


def add_episodes(into: dict[str, EpisodeDelta], other: Mapping[str, EpisodeDelta]) -> None:
    """Add episodes, kind by kind."""
    for kind, delta in other.items():
        into.setdefault(kind, EpisodeDelta()).add(delta)


def all_of(parts: Iterable[Mapping[str, EpisodeDelta]]) -> dict[str, EpisodeDelta]:
    """Several windows, or processes, as one."""
    total: dict[str, EpisodeDelta] = {}
    for part in parts:
        add_episodes(total, part)
    return total
