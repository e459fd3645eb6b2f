"""Rules about workers that wait for one of them, or for a lock."""

from __future__ import annotations

from dataclasses import replace

import pytest
from analyses import Make, frame, ids, phase, sample

from hotloop.analyze.bounds import Bound
from hotloop.analyze.model import Frame, RunRow
from hotloop.analyze.processes.run_table import SLOWEST
from hotloop.capture.schema import Notes
from hotloop.diagnose.rules.processes.uneven import lock_contention, slow_worker


@pytest.mark.parametrize(("draws_s", "said"), [(4.0, True), (0.5, False)])
def test_a_worker_that_does_more_than_the_others(make: Make, draws_s: float, said: bool) -> None:
    """Not one that is only slower at what all of them do."""
    steps, draws = frame("step", line=30), frame("Debug.draw", line=17)
    made = make(
        phase("wait", 9.0),
        phase("env.step", 3.0, process="worker-1"),
        samples=[
            sample("env.step", 3.0, steps, process="worker-1"),
            sample("wait", 6.0, frame("work", line=50), process="worker-1"),
            sample("env.step", 7.0 - draws_s, steps, process="worker-2"),
            sample("", draws_s, draws, process="worker-2"),
        ],
    )
    waiting = RunRow("(waiting for the slowest)", "worker", 2, SLOWEST, 2.0, 0.2)
    found = slow_worker(replace(made, run_table=[waiting]))
    if said:
        assert "worker-2, the slowest of 2 workers" in found[0].title
        assert "40% of the loop more than the others in `draw` (train.py:17)" in found[0].title
    else:
        assert ["step" in each.title for each in found] == [True]


SYNCHRONIZE = "/usr/lib/python3.11/multiprocessing/synchronize.py"


@pytest.mark.parametrize(
    ("frames", "said"),
    [
        ((frame("train", line=40),), True),
        ((Frame(SYNCHRONIZE, "SemLock.__enter__", 90, 91, False), frame("train", line=41)), True),
        # A queue's own lock, and a wait for something else.
        ((Frame(SYNCHRONIZE, "SemLock.__enter__", 90, 91, False),
          Frame("/usr/lib/python3.11/multiprocessing/queues.py", "Queue.get", 90, 99, False),
          frame("train", line=42)), False),
        ((frame("train", line=43),), False),
    ],
)  # fmt: skip
def test_processes_that_wait_for_a_lock(make: Make, frames: tuple[Frame, ...], said: bool) -> None:
    lines = {"/home/me/train.py": {"40": [["lock.acquire"], 0], "43": [["pipe.recv"], 0]}}
    samples = [sample("wait", 3.0, *frames), sample("wait", 3.0, *frames, process="train-2")]
    made = make(phase("wait", 3.0), samples=samples, notes={"lines": lines})
    assert lock_contention(made) == []
    made = replace(
        made,
        notes=Notes({**made.notes.raw, "trains_beside": ["train-2"]}),
        worker_notes={"train-2": Notes({"lines": lines})},
    )
    assert ids(lock_contention(made)) == ["lock-contention"] * said


@pytest.mark.parametrize(("have", "said"), [(2, True), (1, False)])
def test_a_lock_costs_nothing_where_another_process_runs_meanwhile(
    make: Make, have: int, said: bool
) -> None:
    lines = {"/home/me/train.py": {"40": [["lock.acquire"], 0]}}
    names = ["main", "train-2"]
    made = make(
        phase("wait", 5.0),
        samples=[sample("wait", 5.0, frame("train", line=40), process=name) for name in names],
        notes={"lines": lines, "trains_beside": ["train-2"]},
        worker_notes={"train-2": {"lines": lines}},
        header={"cores": have},
    )
    half = Bound(python=0.5, waiting=0.5)
    made = replace(made, bound=half, process_bounds={"train-2": half})
    assert ids(lock_contention(made)) == ["lock-contention"] * said


def test_a_worker_that_waits_for_a_core_does_no_more_than_the_others(make: Make) -> None:
    work, waiting = frame("work", line=39), RunRow("", "worker", 2, SLOWEST, 2.0, 0.2)
    short = replace(sample("", 4.0, work, process="worker-2"), without_core=True)
    own = [sample("", 3.0, work, process=f"worker-{i}") for i in (1, 2)]
    made = make(phase("wait", 9.0), samples=[*own, short])
    assert slow_worker(replace(made, run_table=[waiting])) == []
