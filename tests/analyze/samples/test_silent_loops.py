"""Phases that only names show, where samples show something else."""

from __future__ import annotations

from typing import Any

import pytest
from made_captures import made_shard

from hotloop.analyze.samples.silent_loops import take_back
from hotloop.capture.lines import StackRow
from hotloop.capture.window import PhaseDelta, Window

GAP = "between step and act"


@pytest.mark.parametrize(("in_loop", "name"), [(30, GAP), (15, "buffer.add"), (0, "buffer.add")])
def test_a_phase_is_taken_back_where_its_time_was_in_other_loops(in_loop: int, name: str) -> None:
    stacks = {
        1: StackRow(7, 0, "train.py", "actor", 1, 16),
        2: StackRow(7, 0, "train.py", "actor", 1, 18),
    }
    samples = {("buffer.add", 1, 0): [in_loop, in_loop], ("buffer.add", 2, 0): [20, 20]}
    window = Window(0, 0, 0, 100, {"buffer.add": PhaseDelta(9, 50, 50)}, samples=samples)
    notes = {"silent_loops": {GAP: ["buffer.add", "train.py:15", "train.py:16"]}}
    shard = take_back(made_shard(notes=notes, windows=[window], stacks=stacks))
    assert set(shard.windows[0].phases) == {name}
    assert {path for path, _, _ in shard.windows[0].samples} == {name}


def test_few_samples_are_no_evidence() -> None:
    stacks = {1: StackRow(7, 0, "train.py", "actor", 1, 16)}
    window = Window(
        0, 0, 0, 100, {"buffer.add": PhaseDelta(9, 50, 50)}, samples={("buffer.add", 1, 0): [5, 5]}
    )
    notes = {"silent_loops": {GAP: ["buffer.add", "train.py:16"]}}
    shard = made_shard(notes=notes, windows=[window], stacks=stacks)
    assert take_back(shard) is shard


@pytest.mark.parametrize(
    ("more", "taken"),
    [
        ({"silent_loops": {"between step and step": ["buffer.add"]}}, False),
        ({"silent_loops": {"between step and step": ["advantage"], "x": []}}, True),
        ({"shapes": {"buffer.add": ["memory:Memory.push"]}}, False),
        ({"shapes": {"buffer.sample": ["memory:Memory.sample"]}}, True),
        ({"named_phases": {"buffer.add=memory:push": 1}}, False),
        ({"named_phases": {"buffer.add=memory:push": 0}}, True),
    ],
)
def test_what_anything_else_shows_keeps_its_name(more: dict[str, Any], taken: bool) -> None:
    stacks = {1: StackRow(7, 0, "train.py", "actor", 1, 16)}
    phases = {"buffer.add": PhaseDelta(9, 50, 50)}
    window = Window(0, 0, 0, 100, phases, samples={("buffer.add", 1, 0): [30, 30]})
    loops = {GAP: ["buffer.add", "train.py:16"], **more.get("silent_loops", {})}
    notes = {**more, "silent_loops": loops}
    shard = take_back(made_shard(notes=notes, windows=[window], stacks=stacks))
    assert set(shard.windows[0].phases) == {GAP if taken else "buffer.add"}
