"""The rule about loops that only look until something has changed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from analyses import Make, frame, ids, phase, sample

from hotloop.analyze.bounds import Bound
from hotloop.analyze.model import RunRow
from hotloop.analyze.processes.run_table import BETWEEN
from hotloop.capture.schema import Notes
from hotloop.diagnose.rules.processes.polling import polling

POLLS = {"/home/me/train.py": [[20, 21]]}
LOOKS = frame("main", line=20)


@pytest.mark.parametrize(
    ("spins_s", "without_core_s", "said"), [(6.0, 3.0, True), (6.0, 0.2, False), (0.5, 3.0, False)]
)
def test_spinning_that_takes_cores_from_those_with_work(
    make: Make, spins_s: float, without_core_s: float, said: bool
) -> None:
    """With a core for every process, it costs nothing."""
    starved = sample("env.step", without_core_s, frame("step"), process="worker-1")
    made = make(
        phase("wait", 8.0),
        samples=[sample("wait", spins_s, LOOKS), replace(starved, without_core=True)],
        notes={"polls": POLLS},
    )
    made = replace(
        made,
        run_table=[RunRow("env.step", "worker", 1, "computing", 8.0, 0.8)],
        process_bounds={"worker-1": Bound(python=0.6, cores=0.4)},
    )
    found = polling(made)
    assert ids(found) == ["polling"] * said
    if said:
        assert found[0].where[0].line == 20
        assert found[0].gain.high <= (found[0].ceiling or 0)


@pytest.mark.parametrize(("idle_s", "said"), [(3.0, True), (0.5, False)])
def test_sleeping_while_the_answer_is_there(make: Make, idle_s: float, said: bool) -> None:
    made = make(
        phase("wait", 8.0),
        samples=[replace(sample("wait", 7.0, LOOKS), waiting=True)],
        notes={"polls": POLLS},
    )
    rows = [RunRow("(messages, scheduling)", "main", 1, BETWEEN, idle_s, idle_s / 10)]
    assert ids(polling(replace(made, run_table=rows))) == ["polling"] * said
    assert polling(replace(made, run_table=rows, notes=Notes())) == []
