"""Rules about what is sent to other processes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from analyses import Make, found_by, frame, ids, phase, sample

from hotloop.analyze.model import Analysis, RunRow
from hotloop.capture.schema import Notes
from hotloop.diagnose.rules.processes import sending

ACTOR = RunRow("env.step", "actor", 2, "computing", 5.0, 0.5)


def said(analysis: Analysis, **notes: Any) -> list[str]:
    made = replace(analysis, run_table=[ACTOR], notes=Notes({**analysis.notes.raw, **notes}))
    return ids(found_by(sending.RULES, made))


def test_weights_that_are_sent_after_every_update(make: Make) -> None:
    assert said(make(phase("sync.weights", 2.0, 100))) == ["frequent-weights"]
    assert said(make(phase("sync.weights", 0.5, 100))) == []


@pytest.mark.parametrize(("called", "ids"), [("take_over", ["frequent-weights"]), ("sample", [])])
def test_weights_that_a_method_of_an_actor_receives(
    make: Make, called: str, ids: list[str]
) -> None:
    """Known by what it does: it loads them into its network."""
    made = make(
        phase("wait", 5.0, 300),
        phase("Player.take_over/sync.weights", 0.5, 150, process="Player-1"),
        samples=[sample("wait", 3.0, frame("main", line=70)), sample("wait", 2.0, frame("main"))],
        gradient_steps=150,
    )
    lines = {"/home/me/train.py": {"70": [["ray.get", f"player.{called}.remote"], 60]}}
    assert said(made, lines=lines) == ids


@pytest.mark.parametrize(("steps", "ids"), [(400, ["frequent-weights"]), (40_000, [])])
def test_actors_that_fetch_weights_at_every_step(make: Make, steps: int, ids: list[str]) -> None:
    made = make(
        phase("wait", 8.0, 300),
        phase("sync.weights", 1.0, 400, process="actor-1"),
        phase("env.step", 2.0, steps, process="actor-1"),
        samples=[
            sample("sync.weights", 1.0, frame("play", line=12), process="actor-1"),
            sample("wait", 2.0, frame("play", line=11), process="actor-1"),
        ],
    )
    assert said(made) == ids


def test_objects_that_are_copied_again_and_again(make: Make) -> None:
    made = make(phase("comm", 2.0, 100))
    assert said(made, libraries={"Ray": {"version": "2"}}) == ["object-copies"]
    assert said(made) == []
