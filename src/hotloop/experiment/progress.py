"""Estimates the remaining time of an experiment from its finished runs."""

from __future__ import annotations


def time_left(spent_s: float, done: int, whole: int) -> str:
    """ ", at most 4 min left"; empty when nothing is left or known."""
    if done <= 0 or whole <= done:
        return ""
    seconds = spent_s / done * (whole - done)
    if seconds < 90:
        return f", at most {max(seconds, 1):.0f} s left"
    if seconds < 5400:
        return f", at most {seconds / 60:.0f} min left"
    return f", at most {seconds / 3600:.1f} h left"
