"""Samples between stretches belong to the phases in which the same code was seen before."""

from __future__ import annotations

import pytest

from hotloop.analyze.stretches.resting_samples import PhasesOfStacks, divide
from hotloop.capture.lines import StackRow
from hotloop.capture.window import Samples

OWN = "/x/hotloop/hooks/inference/steps.py"
STACKS = {
    row.id: row
    for row in (
        StackRow(1, 0, "train.py", "<module>", 1, 10),
        StackRow(2, 1, "env.py", "step", 1, 5),
        StackRow(3, 1, "net.py", "forward", 1, 7),
        # The same step, called through a hook that is written in Python.
        StackRow(4, 1, OWN, "call", 1, 3),
        StackRow(5, 4, "env.py", "step", 1, 5),
        # Never seen while every call was measured.
        StackRow(6, 2, "env.py", "rare", 20, 21),
        StackRow(7, 0, "train.py", "<module>", 1, 11),
    )
}
MEASURED: Samples = {
    ("env.step", 5, 0): [3, 30],
    ("policy.act", 3, 0): [9, 90],
    ("", 1, 0): [1, 10],
    ("transfer", 1, 0): [3, 30],
}


def anything(path: str) -> bool:
    return True


@pytest.fixture
def phases() -> PhasesOfStacks:
    return PhasesOfStacks([MEASURED], STACKS)


def test_a_stack_has_the_phase_in_which_it_was_seen(phases: PhasesOfStacks) -> None:
    assert phases.of(2, anything) == [("env.step", 1.0)]
    assert phases.of(3, anything) == [("policy.act", 1.0)]


def test_code_that_was_never_seen_has_the_phase_of_its_caller(phases: PhasesOfStacks) -> None:
    assert phases.of(6, anything) == [("env.step", 1.0)]


def test_a_line_with_several_phases_is_divided_as_it_was_seen(phases: PhasesOfStacks) -> None:
    assert dict(phases.of(1, anything)) == {"": 0.25, "transfer": 0.75}


def test_an_unknown_stack_is_divided_as_everything(phases: PhasesOfStacks) -> None:
    shares = dict(phases.of(7, anything))
    assert shares["policy.act"] == 90 / 160
    assert sum(shares.values()) == pytest.approx(1)


def test_only_phases_that_fit_what_is_open_count(phases: PhasesOfStacks) -> None:
    assert phases.of(2, lambda path: path == "policy.act") == [("policy.act", 1.0)]
    assert phases.of(2, lambda path: path == "evaluate") == []


def test_parts_add_up_to_the_whole() -> None:
    parts = [("a", 1 / 3), ("b", 1 / 3), ("c", 1 / 3)]
    divided = list(divide(parts, 10, 1000))
    assert sum(count for _, count, _ in divided) == 10
    assert sum(ns for *_, ns in divided) == 1000
    assert {count for _, count, _ in divided} <= {3, 4}
