"""Waiting for a thread of the same process is followed into what the thread ran."""

from __future__ import annotations

import pytest
from made_captures import S, analysis_of, made_shard

from hotloop.analyze.model import RunRow
from hotloop.capture.lines import StackRow
from hotloop.capture.sample_modes import MODE_PYTHON, MODE_WAITING_LOCK
from hotloop.capture.window import PhaseDelta, Window

STACKS = {
    1: StackRow(1, 0, "train.py", "parse", 1, 7),
    2: StackRow(2, 0, "train.py", "learn", 9, 9),
}


def rows_of(thread: dict[tuple[str, int, int], list[int]]) -> dict[tuple[str, str], RunRow]:
    """A loop of ten seconds: six of waiting in the main thread, four of learning."""
    phases = {
        "wait": PhaseDelta(90, 6 * S, 6 * S),
        "learn.backward": PhaseDelta(90, 4 * S, 4 * S),
        "@thread-7": PhaseDelta(0, 10 * S, 10 * S),
    }
    window = Window(0, 0, 0, 10 * S, phases, samples=thread, loop_last_ns=10 * S)
    shard = made_shard(windows=[window], stacks=STACKS)
    analysis = analysis_of(shard)
    assert sum(row.seconds for row in analysis.run_table) in (0, pytest.approx(10))
    return {(row.process, row.name): row for row in analysis.run_table}


def test_a_wait_is_what_the_thread_ran() -> None:
    parses = {
        ("@thread-7", 1, MODE_PYTHON): [80, 4 * S],
        ("@thread-7/env.step", 1, MODE_PYTHON): [20, S],
    }
    rows = rows_of({**parses, ("@thread-7", 1, MODE_WAITING_LOCK): [60, 3 * S]})
    parsing = rows["thread", "(in no phase)"]
    assert (parsing.seconds, parsing.file, parsing.line) == (pytest.approx(4), "train.py", 7)
    assert rows["thread", "env.step"].seconds == pytest.approx(1)
    assert rows["main", "wait"].seconds == pytest.approx(1)


def test_a_thread_that_runs_all_the_time_fills_no_more_than_the_wait() -> None:
    rows = rows_of({("@thread-7", 1, MODE_PYTHON): [200, 10 * S]})
    assert rows["thread", "(in no phase)"].seconds == pytest.approx(6)
    assert ("main", "wait") not in rows


def test_threads_that_only_wait_make_no_table() -> None:
    assert rows_of({("@thread-7", 1, MODE_WAITING_LOCK): [200, 10 * S]}) == {}
