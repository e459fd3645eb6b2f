"""Values of notes and headers, decoded from what may be damaged."""

from __future__ import annotations

import pytest

from hotloop.capture.records import BadValueError, Damage
from hotloop.capture.values import (
    LONGEST_NAME,
    MOST_REGION_COST_NS,
    LineCalls,
    RegionCost,
    SourceLine,
    TransferLine,
    line_calls,
    region_cost,
    source_line,
    transfer_line,
)


def test_a_cost_is_read_as_it_was_written() -> None:
    cost = RegionCost(12.5, 30.0)
    assert region_cost(cost.encode(), Damage()) == cost
    assert cost.total_ns == 42.5


def test_a_damaged_cost_cannot_turn_every_figure_to_zero() -> None:
    found = region_cost({"inside_ns": 1e15, "outside_ns": -5.0}, Damage())
    assert found == RegionCost(MOST_REGION_COST_NS, 0.0)
    for bad in ([], None, {"inside_ns": "x", "outside_ns": 1.0}):
        with pytest.raises(BadValueError):
            region_cost(bad, Damage())


def test_source_lines() -> None:
    line = source_line(["train.py", 40, "Agent.learn"], Damage())
    assert line == SourceLine("train.py", 40, "Agent.learn")
    assert str(line) == "train.py:40"
    for bad in (["train.py", 40], ["train.py", "40", "f"], "train.py"):
        with pytest.raises(BadValueError):
            source_line(bad, Damage())


def test_names_that_a_line_calls() -> None:
    assert line_calls([["append", "sum"], 7], Damage()) == LineCalls(
        frozenset({"append", "sum"}), 7
    )
    damage = Damage()
    found = line_calls([["sum", "x" * (LONGEST_NAME + 1)], 0], damage)
    assert (found.names, damage.values) == (frozenset({"sum"}), 1)


def test_transfers_of_a_line() -> None:
    row = ["train.py", 3, "act", "item", 5, 40, 5]
    assert transfer_line(row, Damage()) == TransferLine("train.py", 3, "act", "item", 5, 40, 5)
    with pytest.raises(BadValueError):
        transfer_line(row[:-1], Damage())
