"""The rule about a thread that the loop waits for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from analyses import Make, ids, phase

from hotloop.analyze.model import Function, RunRow
from hotloop.diagnose.rules.processes.awaited_threads import slow_thread
from hotloop.phases import NO_PHASE_LABEL


def of_thread(self_s: float, file: str, line: int, from_line: int = 0) -> Function:
    own = file == "train.py"
    return Function(
        "", file, "run", 1, "main", self_s, self_s, self_s / 10, 90, 1.0, 0.0, 0.0, own, line,
        from_file="train.py" if from_line else "", from_line=from_line,
    )  # fmt: skip


@pytest.mark.parametrize(("ran_s", "said"), [(4.0, True), (1.5, False)])
def test_a_thread_that_is_busy_while_the_loop_waits(make: Make, ran_s: float, said: bool) -> None:
    """Not one that waits itself, for a network or a disk."""
    analysis = replace(
        make(phase("wait", 5.0, 100)),
        run_table=[RunRow(NO_PHASE_LABEL, "thread", 1, "unexplained", ran_s, ran_s / 10)],
        thread_functions=[
            of_thread(1.0, "train.py", 12),
            of_thread(3.0, "/usr/lib/python3.11/json/decoder.py", 355, from_line=14),
        ],
    )
    found = slow_thread(analysis)
    assert ids(found) == ["slow-thread"] * said
    if said:
        assert [line.line for line in found[0].where] == [14, 12]
        assert found[0].gain.high <= (found[0].ceiling or 0)


def test_a_thread_without_known_lines_is_not_reported(make: Make) -> None:
    row = RunRow(NO_PHASE_LABEL, "thread", 1, "unexplained", 4.0, 0.4)
    assert slow_thread(replace(make(phase("wait", 5.0, 100)), run_table=[row])) == []
