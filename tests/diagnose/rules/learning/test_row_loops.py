"""Tensors that a loop works on row by row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from analyses import Make, frame, ids, sample

from hotloop.analyze.model import Analysis
from hotloop.diagnose.rules.learning import row_loops

#: A single-file program: the projection is at lines 53 to 55, the update around it at 40 to 70.
PROJECT = frame("<module>", line=54)
BACKWARD = frame("backward", "/venv/lib/python3.11/site-packages/torch/_tensor.py")


def projecting(
    make: Make, calls: list[str], picks: int = 1, phase: str = "learn.loss", **more: Any
) -> Analysis:
    lines = {PROJECT.file: {"54": [calls, 53], "66": [["loss.backward"], 40]}}
    loops = {PROJECT.file: {"53": [55, picks], "40": [70, 0]}}
    learning = sample("learn.backward", 4.0, BACKWARD, frame("<module>", line=66))
    work = replace(sample(phase, 4.0, PROJECT), **more)
    return make(samples=[work, learning], notes={"lines": lines, "loops": loops}, env_steps=1000)


def test_a_projection_row_by_row(make: Make) -> None:
    (found,) = row_loops.tensor_row_loop(projecting(make, ["index_add_", "long"]))
    assert found.id == "tensor-row-loop"
    assert found.where[0].line == 54
    assert found.phase == "learn.loss"


@pytest.mark.parametrize(
    ("calls", "native", "said"),
    [
        ([], True, True),  # arithmetic on tensors
        ([], False, False),  # arithmetic on numbers
        (["append", "float"], False, False),
        (["np.add.at"], True, False),
    ],
)
def test_what_a_loop_works_on(make: Make, calls: list[str], native: bool, said: bool) -> None:
    analysis = projecting(make, calls, native=native)
    assert ids(row_loops.tensor_row_loop(analysis)) == (["tensor-row-loop"] if said else [])


def test_other_loops_do_not_count(make: Make) -> None:
    assert not row_loops.tensor_row_loop(projecting(make, ["add_"], picks=0))
    assert not row_loops.tensor_row_loop(projecting(make, ["add_"], phase="env.step"))
    assert not row_loops.tensor_row_loop(projecting(make, ["add_"], waiting=True))


def test_a_loop_around_the_update_is_training(make: Make) -> None:
    """Minibatches are rows that are picked by number as well."""
    lines = {PROJECT.file: {"54": [["ratio.mean"], 40], "66": [["loss.backward"], 40]}}
    learning = sample("learn.backward", 4.0, BACKWARD, frame("<module>", line=66))
    analysis = make(
        samples=[sample("learn.loss", 4.0, PROJECT), learning],
        notes={"lines": lines, "loops": {PROJECT.file: {"40": [70, 1]}}},
        env_steps=1000,
    )
    assert not row_loops.tensor_row_loop(analysis)
