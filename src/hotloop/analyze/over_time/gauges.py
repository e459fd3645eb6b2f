"""Gauges of a run, read from its windows."""

from __future__ import annotations

from collections.abc import Iterable

from hotloop.capture.window import Window


def values_of(windows: Iterable[Window], name: str) -> list[float]:
    """The values of a gauge, window by window; those without it are left out."""
    return [window.gauges[name] for window in windows if name in window.gauges]


def last(windows: Iterable[Window], name: str) -> float | None:
    """The last value; None if it was not recorded."""
    values = values_of(windows, name)
    return values[-1] if values else None


def largest(windows: Iterable[Window], name: str) -> float | None:
    """The largest value; None if it was not recorded."""
    return max(values_of(windows, name), default=None)


def mean(windows: Iterable[Window], name: str) -> float | None:
    """The mean over time; None if it was not recorded."""
    known = [window for window in windows if name in window.gauges]
    seconds = sum(window.seconds for window in known)
    total = sum(window.gauges[name] * window.seconds for window in known)
    return total / seconds if seconds > 0 else None


def total_s(windows: Iterable[Window], name: str) -> float:
    """The sum of a gauge of nanoseconds, in seconds."""
    return sum(values_of(windows, name)) / 1e9


def megabytes(value: float | None) -> float | None:
    """A gauge of bytes in megabytes."""
    return value / 1e6 if value is not None else None
