"""What kind of training a run is."""

from __future__ import annotations

from typing import Any

import pytest
from analyses import make_analysis, phase, window

from hotloop.analyze.kind import (
    has_training_loop,
    is_reinforcement_learning,
    is_warm_up,
    learning_starts,
    learns,
    learns_from_data,
    phases_there_are,
    steps_per_s_after_warm_up,
)
from hotloop.analyze.model import Phase
from hotloop.capture.schema import ENV_STEPS, GRADIENT_STEPS, LEARNING_STARTS
from hotloop.capture.window import Window


def test_supervised_training_is_a_training_loop_and_not_reinforcement_learning() -> None:
    analysis = make_analysis(phase("learn.optimizer", 4.0), gradient_steps=100)
    assert has_training_loop(analysis)
    assert learns(analysis)
    assert not is_reinforcement_learning(analysis)


def test_environment_steps_alone_are_reinforcement_learning_without_learning() -> None:
    analysis = make_analysis(env_steps=100)
    assert is_reinforcement_learning(analysis)
    assert has_training_loop(analysis)
    assert not learns(analysis)


def test_steps_before_the_first_update_of_an_optimizer_are_warm_up() -> None:
    network = {"networks": [{"optimizer": "Adam", "parameters": 100}]}
    assert is_warm_up(make_analysis(env_steps=100, notes=network))
    assert not is_warm_up(make_analysis(env_steps=100))
    assert not is_warm_up(make_analysis(env_steps=100, gradient_steps=1, notes=network))


def test_speed_after_warm_up_leaves_out_the_window_in_which_learning_begins() -> None:
    slow = [
        window(n, {}, counters={ENV_STEPS: 100, GRADIENT_STEPS: 10 * (n > 2)}) for n in range(2, 6)
    ]
    fast = [window(n, {}, counters={ENV_STEPS: 1000}) for n in range(2)]
    analysis = make_analysis(windows=fast + slow, env_steps=2400, gradient_steps=30)
    assert steps_per_s_after_warm_up(analysis) == pytest.approx(100)
    analysis.phases.append(phase("advantage", 0.1))  # a rollout comes before each update
    assert steps_per_s_after_warm_up(analysis) is None


def test_a_program_that_collects_and_learns_in_turns_has_no_warm_up() -> None:
    turns = [
        window(n, {}, counters={ENV_STEPS: 100, GRADIENT_STEPS: 5 * (n % 2)}) for n in range(6)
    ]
    analysis = make_analysis(windows=turns, env_steps=600, gradient_steps=15)
    assert steps_per_s_after_warm_up(analysis) is None


def windows_of(*counted: tuple[int, int]) -> list[Window]:
    """Windows with these (environment steps, gradient steps)."""
    return [
        window(n, {}, counters={ENV_STEPS: steps, GRADIENT_STEPS: updates})
        for n, (steps, updates) in enumerate(counted)
    ]


def test_steps_that_fill_a_dataset_first_are_beside_the_training() -> None:
    filled = windows_of((500, 10), (0, 80), (0, 80))
    assert learns_from_data(make_analysis(windows=filled, env_steps=500, gradient_steps=170))
    rollout = make_analysis(
        phase("advantage", 1.0), windows=filled, env_steps=500, gradient_steps=170
    )
    assert not learns_from_data(rollout)


def test_steps_of_actors_are_of_the_training() -> None:
    learner = [window(n, {}, counters={GRADIENT_STEPS: 10}) for n in range(3)]
    acted = phase("env.step", 5.0, process="actor-1")
    counts = {"env_steps": 500, "gradient_steps": 30}
    assert not learns_from_data(make_analysis(acted, windows=learner, **counts))
    loader = phase("data.wait", 1.0)
    assert learns_from_data(make_analysis(acted, loader, windows=learner, **counts))


def test_steps_that_evaluate_are_beside_the_training() -> None:
    turns = windows_of((0, 50), (100, 30), (100, 30))

    def learns_so(*phases: Phase, notes: dict[str, Any] | None = None) -> bool:
        return learns_from_data(
            make_analysis(*phases, windows=turns, env_steps=200, gradient_steps=110, notes=notes)
        )

    assert learns_so(phase("data.load", 1.0))
    assert not learns_so(phase("buffer.sample", 1.0))
    library = {"libraries": {"d3rlpy": {"version": "2.8.1"}}}
    assert learns_so(phase("buffer.sample", 1.0), notes=library)
    assert not learns_so(phase("buffer.sample", 1.0), phase("buffer.add", 1.0), notes=library)


def test_phases_with_the_most_own_time_are_named() -> None:
    analysis = make_analysis(
        phase("collect", 6.0, self_s=1.0),
        phase("collect/env.step", 5.0),
        phase("learn", 3.0),
        phase("between step and forward", 4.0),
        phase("log", 0.5),
        phase("evaluate", 0.2),
    )
    assert [name for name, _ in phases_there_are(analysis)] == ["env.step", "learn", "collect"]


def test_learning_starts_is_the_last_known_setting() -> None:
    windows = [window(0, {}), window(1, {}, gauges={LEARNING_STARTS: 500.0}), window(2, {})]
    assert learning_starts(make_analysis(windows=windows)) == 500
    assert learning_starts(make_analysis(windows=windows[:1])) is None


def test_what_a_wait_for_a_loader_consists_of_is_the_loaders() -> None:
    analysis = make_analysis(
        phase("data.wait", 6.0, self_s=1.0),
        phase("data.wait/wait", 5.0, self_s=3.0),
        phase("data.wait/wait/transfer", 2.0),
        phase("learn.backward", 3.0),
    )
    named = phases_there_are(analysis)
    assert named == [("data.wait", pytest.approx(0.6)), ("learn.backward", pytest.approx(0.3))]
