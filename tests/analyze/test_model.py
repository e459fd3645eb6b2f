"""Figures of a run and its phases that follow from others."""

from __future__ import annotations

import pytest
from analyses import Make, phase

from hotloop.analyze.model import Function, of_main_thread


def test_counts_and_rates_of_the_loop(make: Make) -> None:
    run = make(env_steps=500, gradient_steps=100, loop_s=10.0).run
    run.counters["samples"] = 6400
    run.once_s = 5.0
    assert (run.env_steps, run.games) == (500, 0)
    # One-time work is in no rate of steps.
    assert run.steps_per_s == 100.0
    assert run.gradient_steps_per_s == 10.0
    assert run.batch_size == 64.0
    assert run.updates_per_step == 0.2
    assert run.per_step(1.0) == 0.002


def test_nothing_is_divided_by_a_loop_without_time(make: Make) -> None:
    run = make(loop_s=0.0, env_steps=5).run
    assert (run.share(1.0), run.steps_per_s, run.samples_per_s) == (0.0, 0.0, 0.0)
    assert make().run.per_step(1.0) is None


def test_quantiles_are_computed_when_they_are_read() -> None:
    asked: list[float] = []

    def later() -> float:
        asked.append(0.5)
        return 0.5

    made = phase("env.step", 1.0, p50_s=later)
    assert asked == []
    assert (made.p50_s, made.p50_s) == (0.5, 0.5)
    assert asked == [0.5]


def test_the_loop_is_on_the_critical_path_where_that_is_known(make: Make) -> None:
    made = phase("learn", 4.0)
    assert (made.loop_s, made.loop_self_s) == (4.0, 4.0)
    made.critical_s, made.critical_self_s = 3.0, 2.0
    assert (made.loop_s, made.loop_self_s) == (3.0, 2.0)


def test_phases_of_other_threads_and_processes_are_apart(make: Make) -> None:
    own, worker, thread = phase("learn", 1.0), phase("learn", 1.0, process="w"), phase("a", 1.0)
    thread.thread = "thread-loader"
    analysis = make(own, worker, thread)
    assert analysis.training_phases == [own]
    assert of_main_thread(analysis.phases, "w") == [worker]
    assert analysis.phase("learn", "w") is worker
    assert analysis.phase("log") is None


def test_states_of_a_function_add_up() -> None:
    function = Function(
        "learn", "a.py", "f", 1, "main", 1.0, 1.0, 0.1, 9, 0.2, 0.3, 0.5, True, core_share=0.1,
        lock_share=0.2,
    )  # fmt: skip
    assert sum(function.states.values()) == pytest.approx(1.0)
    assert function.states["waiting"] == pytest.approx(0.2)
