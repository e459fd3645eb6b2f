"""What kind of training a run is."""

from __future__ import annotations

import pytest
from analyses import make_analysis, phase, window

from hotloop.analyze.kind import (
    has_training_loop,
    is_reinforcement_learning,
    is_warm_up,
    learning_starts,
    learns,
    phases_there_are,
    steps_per_s_after_warm_up,
)
from hotloop.capture.schema import ENV_STEPS, GRADIENT_STEPS, LEARNING_STARTS


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


def test_a_program_that_collects_and_learns_in_turns_has_no_warm_up() -> None:
    turns = [
        window(n, {}, counters={ENV_STEPS: 100, GRADIENT_STEPS: 5 * (n % 2)}) for n in range(6)
    ]
    analysis = make_analysis(windows=turns, env_steps=600, gradient_steps=15)
    assert steps_per_s_after_warm_up(analysis) is None


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
