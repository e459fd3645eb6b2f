"""Jobs on this machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from launches import launch

from hotloop.experiment.here import Here, Job, do


def test_a_job_ends_at_its_first_failure_unless_it_goes_on(program: Path) -> None:
    bad = launch(program, "train.py --fail")
    good = replace(launch(program, "train.py --steps 3"), capture=str(program / "out" / "second"))
    assert len(do(Job(0, (bad, good)))) == 1
    assert [bool(o.failure) for o in do(Job(0, (bad, good), keep_going=True))] == [True, False]
    assert [len(outcomes) for _, outcomes in Here().outcomes([Job(0, (bad, good))])] == [1]
