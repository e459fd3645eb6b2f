"""Which samples of a step are the simulation itself."""

from __future__ import annotations

import pytest
from analyses import STEP, Make, frame, sample

from hotloop.diagnose.rules.environments.simulating import recurrences, simulates

FED_BACK = {STEP.file: {str(STEP.line): ["advance"], "1": [""]}}


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("World.advance", True),
        ("timed.<locals>.wrapper", True),  # around `advance`
        ("World.observe", False),
    ],
)
def test_a_call_that_is_given_what_came_of_it(inside: str, said: bool) -> None:
    deep = frame("rhs", "/home/me/physics.py", 7)
    stack = sample("env.step", 1.0, deep, frame(inside, "/home/me/world.py", 9), STEP)
    assert simulates(stack, 2, FED_BACK) is said


def test_a_function_that_moves_its_object() -> None:
    here = frame("World.move", line=12)  # begins at line 1
    assert simulates(sample("env.step", 1.0, here, frame("World.step", "/other.py")), 1, FED_BACK)
    assert not simulates(sample("env.step", 1.0, STEP), 0, FED_BACK)  # every step does
    assert not simulates(sample("env.step", 1.0, here), -1, FED_BACK)


def test_workers_know_files_that_the_main_process_never_ran(make: Make) -> None:
    analysis = make(
        notes={"recurrences": {"a.py": {"1": ["f"]}}},
        worker_notes={"worker-1": {"recurrences": {"env.py": {"2": ["g"]}}}},
    )
    assert recurrences(analysis) == {"a.py": {"1": ["f"]}, "env.py": {"2": ["g"]}}
