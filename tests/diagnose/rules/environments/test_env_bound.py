"""When a run waits for its simulator, and what is advised then."""

from __future__ import annotations

from dataclasses import replace

import pytest
from analyses import Make, frame, phase, sample

from hotloop.analyze.model import Function
from hotloop.diagnose.rules.environments.env_bound import env_bound


@pytest.mark.parametrize(
    ("seconds", "steps", "said"), [(5.9, 1000, False), (6.1, 1000, True), (6.1, 70_000, False)]
)
def test_env_bound_needs_a_large_share_and_heavy_steps(
    make: Make, seconds: float, steps: int, said: bool
) -> None:
    analysis = make(phase("env.step", seconds), env_steps=steps)
    assert bool(env_bound(analysis)) is said


def test_steps_that_sleep_need_no_faster_code(make: Make) -> None:
    stepping = sample("env.step", 2.0, frame("Server.step", line=3))
    asleep = replace(stepping, seconds=6.0, waiting=True)
    analysis = make(phase("env.step", 8.0), samples=[stepping, asleep], env_steps=1000)
    (found,) = env_bound(analysis)
    assert "75% of it waiting" in found.title
    assert "NumPy" not in found.fix
    assert "overlap" in found.fix


@pytest.mark.parametrize(("loop", "said"), [(0, True), (90, False)])
def test_a_step_that_pauses_for_whoever_watches(make: Make, loop: int, said: bool) -> None:
    """Unlike one that looks in a loop whether a server has answered."""
    asleep = replace(sample("env.step", 7.0, frame("Game.step", line=94)), waiting=True)
    notes = {"lines": {asleep.frames[0].file: {"94": [["self.clock.tick"], loop]}}}
    analysis = make(phase("env.step", 8.0), samples=[asleep], env_steps=350, notes=notes)
    file = asleep.frames[0].file
    row = Function("env.step", file, "Game.step", 64, "main", 7.0, 7.0, 0.7, 700, 0.0, 0.0, 1.0,
                   of_program=True, hot_line=94, sleeping_share=1.0)  # fmt: skip
    (found,) = env_bound(replace(analysis, functions=[row]))
    assert found.title.startswith("Environment steps sleep") is said
    assert ("frame rate" in found.fix) is said
    if said:
        assert "70% of the loop, 20.0 ms per step" in found.title
        assert [place.line for place in found.where] == [94]


@pytest.mark.parametrize(
    ("path", "hot_line"), [("env.step", 90), ("evaluate/env.step", 94)], ids=["line", "evaluation"]
)
def test_a_pause_elsewhere_is_not_said_to_be_here(make: Make, path: str, hot_line: int) -> None:
    """The line with the most time computes, or the pause is in an evaluation."""
    asleep = [
        replace(sample("env.step", 3.0, frame("Game.step", line=line)), waiting=True)
        for line in (94, 97)
    ]
    works = sample("env.step", 4.0, frame("Game.step", line=90))
    analysis = make(phase("env.step", 10.0), samples=[*asleep, works], env_steps=350)
    row = Function(path, works.frames[0].file, "Game.step", 64, "main", 10.0, 10.0, 1.0, 1000,
                   0.0, 0.4, 0.6, of_program=True, hot_line=hot_line, sleeping_share=0.6)  # fmt: skip
    (found,) = env_bound(replace(analysis, functions=[row]))
    assert "60% of it waiting" in found.title
    assert "frame rate" not in found.fix
