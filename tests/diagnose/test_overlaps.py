"""Findings that count the same time say so."""

from __future__ import annotations

from dataclasses import replace

import pytest
from analyses import Make, phase
from findings_made import found

from hotloop.capture.schema import SourceLine
from hotloop.diagnose.finding import Finding
from hotloop.diagnose.overlaps import say_overlaps


def about(id: str, name: str, share: float, line: int = 0) -> Finding:
    where = [SourceLine("train.py", line, "main")] if line else []
    made = replace(found(id, 1.2, 1.5), phase=name, where=where)
    made.evidence = {"share_of_loop": share}
    return made


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (about("a", "env.step", 0.5), about("b", "env.step", 0.5), True),  # more than there is
        (about("a", "env.step", 0.2), about("b", "env.step", 0.2), False),  # may be two parts
        (about("a", "env.step", 0.5), about("b", "env.render", 0.3), True),  # one holds the other
        (about("a", "env.step", 0.5), about("b", "learn", 0.3), False),
        (about("a", "", 0.7), about("b", "learn", 0.5), True),  # more than the loop
        (about("a", "", 0.1, 7), about("b", "learn", 0.1, 7), True),  # one line
    ],
)
def test_what_is_surely_counted_twice(make: Make, one: Finding, other: Finding, said: bool) -> None:
    analysis = make(phase("env.step", 6.0), phase("env.step/env.render", 3.0), phase("learn", 4.0))
    one, other = replace(one), replace(other)
    first, second = say_overlaps(analysis, [one, other])
    assert "also counts" not in first.fix
    assert ("also counts towards `a`" in second.fix) is said
