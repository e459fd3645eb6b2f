"""Fixes that need no edit, and what each may do to learning."""

from __future__ import annotations

import pytest
from analyses import Make
from findings_made import found

from hotloop.experiment.command import parse_command
from hotloop.experiment.fixes import CHANGES, IF_UNCHANGED, ROUNDING, RUN_TIME, Fix, run_time_fixes
from hotloop.hooks.fixes import check


def test_run_time_fixes_are_known_to_the_hooks(make: Make) -> None:
    libraries = {"SQLite": {}, "PyTorch": {}}
    for id in RUN_TIME:
        fixes = run_time_fixes(make(notes={"libraries": libraries}), found(id))
        assert fixes, id
        check([name for fix in fixes for name in fix.fixes])


def test_a_fix_of_a_library_needs_that_library(make: Make) -> None:
    names = [fix.name for fix in run_time_fixes(make(), found("logging"))]
    assert names == ["log 1/100 as often"]
    assert run_time_fixes(make(), found("env-bound")) == []


@pytest.mark.parametrize(
    ("learning", "every", "keeps"),
    [("", (), True), (IF_UNCHANGED, (), True), (ROUNDING, (), False), ("", ("log=9",), False)],
)
def test_which_fixes_must_keep_the_weights(
    learning: str, every: tuple[str, ...], keeps: bool
) -> None:
    fix = Fix("name", "how", learning=learning, every=every)
    assert fix.keeps_weights is keeps
    assert fix.changes_learning is (learning == CHANGES)


def test_a_fix_is_added_to_the_options_and_variables() -> None:
    fix = Fix("name", "how", fixes=("threads=1",), every=("log=9",), environment={"A": "1"})
    command = fix.on(parse_command("B=2 train.py"))
    assert command.options == ("--fix", "threads=1", "--every", "log=9")
    assert command.environment == {"B": "2", "A": "1"}
