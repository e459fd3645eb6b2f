"""Evaluations, checkpoints and compilations over a run."""

from __future__ import annotations

from hotloop.analyze.over_time.interruptions import MOST_INTERRUPTIONS, interruptions
from hotloop.capture.window import PhaseDelta, Window

S = 1_000_000_000


def one_window(number: int, path: str, first: float, last: float, calls: int = 1) -> Window:
    """A second with one phase from `first` to `last`, in seconds of the run."""
    elapsed = round((last - first) * S)
    delta = PhaseDelta(calls, elapsed, elapsed, first_ns=round(first * S), last_ns=round(last * S))
    return Window(number, number, number * S, (number + 1) * S, {path: delta})


def test_an_evaluation_across_windows_counts_once() -> None:
    windows = [
        one_window(0, "evaluate", 0.5, 1.0, calls=0),
        one_window(1, "evaluate", 1.0, 1.4),
        one_window(3, "evaluate", 3.2, 3.4),
    ]
    found = interruptions(windows)
    assert [(each.begin_s, each.end_s, each.calls) for each in found] == [
        (0.5, 1.4, 1),
        (3.2, 3.4, 1),
    ]


def test_only_interruptions_of_the_main_thread_count() -> None:
    windows = [
        one_window(0, "env.step", 0.0, 0.9),
        one_window(1, "@thread-1/evaluate", 1.0, 1.9),
        one_window(2, "learn/checkpoint", 2.0, 2.9),
    ]
    assert [each.name for each in interruptions(windows)] == ["checkpoint"]


def test_a_call_that_began_before_the_window_begins_with_it() -> None:
    delta = PhaseDelta(1, S, S, first_ns=round(5.4 * S), last_ns=round(5.9 * S))
    found = interruptions([Window(5, 5, 5 * S, 6 * S, {"compile": delta})])
    assert [(each.begin_s, each.end_s) for each in found] == [(5.0, 5.9)]


def test_of_many_interruptions_the_longest_are_kept_in_the_order_of_time() -> None:
    windows = [
        one_window(n, "checkpoint", n + 0.1, n + (0.9 if n == 7 else 0.2))
        for n in range(MOST_INTERRUPTIONS + 20)
    ]
    found = interruptions(windows)
    assert len(found) == MOST_INTERRUPTIONS
    assert 7.1 in [each.begin_s for each in found]
    assert found == sorted(found, key=lambda each: each.begin_s)
