"""Figures of a run that follow from what was counted in it."""

from __future__ import annotations

from analyses import Make


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
