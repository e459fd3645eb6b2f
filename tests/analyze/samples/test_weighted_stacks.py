"""Stacks weighted by the exact time of their phases."""

from __future__ import annotations

import pytest
from sampled_phases import analysis

from hotloop.analyze.samples.weighted_stacks import weighted_stacks
from hotloop.phases import NO_PHASE_LABEL


def test_weighted_stacks_add_up_to_the_phases() -> None:
    stacks = weighted_stacks(analysis())
    by_path: dict[str, float] = {}
    for stack in stacks:
        by_path[stack.path] = by_path.get(stack.path, 0.0) + stack.seconds
    assert by_path == {
        "collect": pytest.approx(1),
        "collect/env.step": pytest.approx(7),
        "": pytest.approx(2),
    }
    assert {stack.phases for stack in stacks} == {
        ("collect",),
        ("collect", "env.step"),
        (NO_PHASE_LABEL,),
    }
    inner = next(stack for stack in stacks if stack.frames and stack.frames[-1].function == "move")
    assert [frame.function for frame in inner.frames][:2] == ["main", "loop"]
