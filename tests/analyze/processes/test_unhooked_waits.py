"""What samples show as waiting becomes a phase."""

from __future__ import annotations

from typing import Any

import pytest
from made_captures import made_shard

from hotloop.analyze.processes.unhooked_waits import separate_waits
from hotloop.capture.lines import StackRow
from hotloop.capture.reader import Shard
from hotloop.capture.sample_modes import (
    MODE_NATIVE,
    MODE_PYTHON,
    MODE_SLEEPING,
    MODE_WAITING_IO,
    MODE_WAITING_LOCK,
)
from hotloop.capture.window import PhaseDelta, Window

FILE, LIBRARY = "/home/me/train.py", "/usr/lib/python3.11/multiprocessing/sharedctypes.py"
#: Line 10 polls, line 20 acquires a lock, line 30 computes.
NOTES: dict[str, Any] = {
    "polls": {FILE: [[9, 11]]},
    "lines": {FILE: {"20": [["lock.acquire"], 0], "30": [["net"], 0]}},
}
STACKS = {
    1: StackRow(1, 0, FILE, "main", 1, 10),
    2: StackRow(2, 1, LIBRARY, "value", 68, 70),
    3: StackRow(3, 0, FILE, "main", 1, 20),
    4: StackRow(4, 0, FILE, "main", 1, 30),
    5: StackRow(5, 3, "/v/site-packages/torch/nn/modules/linear.py", "forward", 1, 134),
}  # fmt: skip


def shard(path: str, samples: dict[tuple[int, int], int], notes: dict[str, Any] = NOTES) -> Shard:
    """One second in a phase, with samples: (stack, mode) -> milliseconds."""
    found = {(path, *key): [1, ms * 1_000_000] for key, ms in samples.items()}
    window = Window(0, 0, 0, 10**9, {path: PhaseDelta(5, 10**9, 10**9)}, samples=found)
    return made_shard("main", notes=notes, windows=[window], stacks=STACKS)


def waited(of: Shard, path: str) -> float:
    """Milliseconds that a phase lost to a `wait` below it; together they are what it was."""
    phases = separate_waits(of).windows[0].phases
    inside = phases.get(f"{path}/wait" if path else "wait", PhaseDelta())
    assert phases[path].self_ns + inside.self_ns == 10**9
    assert phases[path].elapsed_ns == 10**9
    return inside.self_ns / 1e6


@pytest.mark.parametrize(
    ("path", "samples", "ms"),
    [
        # Polling waits, whether it spins or sleeps, in the loop or in what it calls.
        ("", {(1, MODE_PYTHON): 300, (2, MODE_PYTHON): 200, (4, MODE_NATIVE): 500}, 500),
        ("env.step", {(1, MODE_SLEEPING): 250, (4, MODE_NATIVE): 750}, 250),
        # A lock that is not free; a simulator may wait for what it likes, a library for its threads.
        ("", {(3, MODE_WAITING_LOCK): 400, (3, MODE_NATIVE): 200, (4, MODE_NATIVE): 400}, 400),
        ("between act and step", {(3, MODE_WAITING_LOCK): 400, (4, MODE_NATIVE): 600}, 400),
        ("env.step", {(3, MODE_WAITING_LOCK): 400, (4, MODE_NATIVE): 600}, 0),
        ("", {(5, MODE_WAITING_LOCK): 400, (4, MODE_NATIVE): 600}, 0),
        # What the other end of a pipe has not sent yet.
        ("data.wait/wait/transfer", {(4, MODE_WAITING_IO): 400, (4, MODE_NATIVE): 600}, 400),
        # A computation that waits for its own threads.
        ("", {(4, MODE_WAITING_LOCK): 1000}, 0),
        # A logger that waits is logging.
        ("log", {(1, MODE_SLEEPING): 1000}, 0),
    ],
)
def test_the_part_of_a_phase_that_waits(
    path: str, samples: dict[tuple[int, int], int], ms: float
) -> None:
    assert waited(shard(path, samples), path) == ms


def test_samples_go_with_their_time() -> None:
    (window,) = separate_waits(shard("", {(1, MODE_PYTHON): 300, (4, MODE_NATIVE): 700})).windows
    assert window.samples == {
        ("wait", 1, MODE_PYTHON): [1, 300_000_000],
        ("", 4, MODE_NATIVE): [1, 700_000_000],
    }


def test_a_wait_that_is_timed_stays_as_it_is() -> None:
    of = shard("wait", {(1, MODE_SLEEPING): 1000})
    assert separate_waits(of).windows == of.windows


def test_other_threads_and_other_programs_stay_as_they_are() -> None:
    of = shard("@thread-1/log", {(1, MODE_PYTHON): 1000})
    assert separate_waits(of).windows == of.windows
    plain = shard("", {(1, MODE_PYTHON): 1000}, {})
    assert separate_waits(plain).windows == plain.windows
