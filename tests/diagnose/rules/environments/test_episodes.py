"""Rules about what grows, and about resets."""

from __future__ import annotations

from typing import Any

import pytest
from analyses import Make, frame, ids, phase, sample, window

from hotloop.analyze.model import Analysis
from hotloop.diagnose.rules.environments import episodes


def growing(make: Make, times: float, **notes: Any) -> Analysis:
    windows = []
    for i in range(12):
        step_s = 1e-3 * (1 + (times - 1) * i / 11)
        steps = 0.8 / step_s
        windows.append(window(i, {"env.step": (0.8, round(steps))}, counters={"env_steps": steps}))
    return make(phase("env.step", 9.6, 5000), windows=windows, notes=notes, loop_s=12.0,
                env_steps=5000)  # fmt: skip


def test_steps_that_grow(make: Make) -> None:
    assert ids(episodes.growing_step_cost(growing(make, 3.0))) == ["growing-step-cost"]
    assert episodes.growing_step_cost(growing(make, 1.2)) == []


@pytest.mark.parametrize(("explores_less", "said"), [(True, False), (False, True)])
def test_steps_between_more_and_more_network_calls(
    make: Make, explores_less: bool, said: bool
) -> None:
    """Their caches are colder: nothing grows."""
    windows = []
    for i in range(12):
        step_s, acting = 26e-6 * (1 + 0.6 * i / 11), 0.05 + 0.5 * i / 11
        calls = round(5000 * (acting if explores_less else 0.3))
        phases = {"env.step": (5000 * step_s, 5000), "policy.act": (calls * 130e-6, calls)}
        windows.append(window(i, phases, counters={"env_steps": 5000.0}))
    analysis = make(
        phase("env.step", 2.0, 60000), phase("policy.act", 2.4, 18000), windows=windows,
        loop_s=12.0, env_steps=60000,
    )  # fmt: skip
    assert bool(episodes.growing_step_cost(analysis)) is said


def test_what_grows_in_resets_is_a_leak(make: Make) -> None:
    leak = {"objects": {"in_steps": 0, "in_resets": 500, "size": 500}}
    history = {"rewards": {"in_steps": 500, "in_resets": 0, "size": 500}}
    (found,) = episodes.growing_step_cost(growing(make, 3.0, env_growth=leak))
    assert found.id == "reset-leak"
    assert found.evidence["container"] == "objects"
    (found,) = episodes.growing_step_cost(growing(make, 3.0, env_growth=history))
    assert found.id == "growing-step-cost"


@pytest.mark.parametrize(("reset_s", "said"), [(0.79, False), (0.81, True)])
def test_resets_from_their_share(make: Make, reset_s: float, said: bool) -> None:
    analysis = make(phase("env.step", 2.0, 5000), phase("env.reset", reset_s, 50), env_steps=5000)
    assert bool(episodes.slow_reset(analysis)) is said


def test_a_reset_as_cheap_as_a_step_is_none(make: Make) -> None:
    analysis = make(phase("env.step", 5.0, 1000), phase("env.reset", 2.0, 500), env_steps=1000)
    assert episodes.slow_reset(analysis) == []


def test_a_light_reset_outside_of_the_steps_is_none(make: Make) -> None:
    """Episodes of one or two steps, as card games have: half of the loop, and nothing to load."""
    analysis = make(phase("env.step", 3.0, 15000), phase("env.reset", 5.0, 10000), env_steps=15000)
    assert episodes.slow_reset(analysis) == []


def test_a_slow_reset_is_edited_in_reset_itself(make: Make) -> None:
    carve, reset = frame("carve", line=20), frame("Maze.reset", line=43)
    analysis = make(
        phase("env.step", 1.0, 1000),
        phase("env.reset", 5.0, 50),
        samples=[sample("env.reset", 5.0, carve, reset, frame("main", line=70))],
        env_steps=1000,
    )
    (found,) = episodes.slow_reset(analysis)
    assert [line.line for line in found.where] == [43]


@pytest.mark.parametrize("process", ["main", "worker-1"])
def test_environments_that_are_made_for_each_task(make: Make, process: str) -> None:
    """By the constructor of a class that was recognized; other objects may be made as they like."""
    own, other = frame("Hopper.__init__", line=14), frame("Policy.__init__", line=30)
    made = make(
        phase("wait", 9.0),
        phase("env.step", 2.0, process=process),
        samples=[
            sample("collect", 3.0, frame("<listcomp>", line=15), own, process=process),
            sample("collect", 3.0, other, process=process),
        ],
        notes={"shapes": {"env.step": ["__main__:Hopper.step"]}},
    )
    (found,) = episodes.rebuilt_env(made)
    assert found.evidence["seconds"] == pytest.approx(3.0)
    assert found.where[0].line == 14
    assert episodes.rebuilt_env(make(phase("wait", 9.0), samples=made.samples)) == []
