"""A fixed-size histogram of durations: its layout, quantiles and encoding.

Each power of two is cut into 32 equal steps, so a bucket is at most 1/32 wide and its middle is
within 1.6% of everything in it. Below 32 ns, a bucket is one nanosecond wide. `native/core.c`
writes the same layout; only non-empty buckets are stored. (HdrHistogram has the same layout with
five bits.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

STEPS_BITS = 5
STEPS = 1 << STEPS_BITS
#: A duration has at most 64 bits.
BUCKETS = 64 * STEPS

#: Bucket -> how many durations fell into it.
Histogram = dict[int, int]


def bucket_of(ns: int) -> int:
    """The bucket that a duration falls into."""
    if ns < STEPS:
        return ns
    high = ns.bit_length() - 1
    octave = high - STEPS_BITS + 1
    return octave * STEPS + ((ns >> (high - STEPS_BITS)) & (STEPS - 1))


def middle_of(bucket: int) -> float:
    """The duration, in nanoseconds, in the middle of a bucket."""
    octave, step = divmod(bucket, STEPS)
    if octave == 0:
        return float(step)
    width = 1 << (octave - 1)
    return (STEPS + step) * width + (width - 1) / 2


def quantile(
    histogram: Mapping[int, int], share: float, middle: Callable[[int], float] = middle_of
) -> float | None:
    """The duration below which `share` of the calls fall; None without calls.

    `middle` is what a bucket stands for.
    """
    total = sum(histogram.values())
    if total == 0:
        return None
    rank = share * (total - 1)
    seen = 0
    bucket = 0
    for bucket in sorted(histogram):
        seen += histogram[bucket]
        if seen > rank:
            break
    return middle(bucket)


def add_into(target: Histogram, other: Mapping[int, int]) -> None:
    """Add the counts of `other` to `target`."""
    for bucket, count in other.items():
        target[bucket] = target.get(bucket, 0) + count


class Stored(Mapping[int, int]):
    """Histograms as they were stored, decoded and added up only when they are read.

    A long run with many workers has hundreds of thousands of them, and no report reads the
    quantiles of most.
    """

    __slots__ = ("_counts", "_texts")

    def __init__(self, *texts: str) -> None:
        self._texts = list(texts)
        self._counts: Histogram = {}

    def _all(self) -> Histogram:
        for text in self._texts:
            try:
                add_into(self._counts, decode(text))
            except ValueError:
                pass  # the right characters, but not a histogram
        self._texts.clear()
        return self._counts

    def __getitem__(self, bucket: int) -> int:
        return self._all()[bucket]

    def __iter__(self) -> Iterator[int]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def take(self, other: Stored) -> None:
        """Add the histograms of `other`."""
        self._texts += other._texts
        add_into(self._counts, other._counts)


def added(target: Mapping[int, int], other: Mapping[int, int]) -> Mapping[int, int]:
    """The sum of both; changes `target` in place if possible."""
    if isinstance(other, Stored):
        if isinstance(target, Stored):
            target.take(other)
            return target
        if not target:
            total = Stored()
            total.take(other)
            return total
    counts = target if isinstance(target, dict) else dict(target)
    add_into(counts, other)
    return counts


def encode(histogram: Mapping[int, int]) -> str:
    """Runs of neighboring buckets, `first:count,count;first:count`, to be stored."""
    runs: list[str] = []
    previous = -2
    for bucket in sorted(histogram):
        if bucket == previous + 1:
            runs[-1] += f",{histogram[bucket]}"
        else:
            runs.append(f"{bucket}:{histogram[bucket]}")
        previous = bucket
    return ";".join(runs)


def decode(text: str) -> Histogram:
    """What `encode` wrote; ValueError for anything else."""
    histogram: Histogram = {}
    if not text:
        return histogram
    for run in text.split(";"):
        first, _, counts = run.partition(":")
        for offset, count in enumerate(counts.split(",")):
            bucket, number = int(first) + offset, int(count)
            if number < 0 or not 0 <= bucket < BUCKETS:
                raise ValueError("no such bucket, or fewer than no calls")
            histogram[bucket] = number
    return histogram
