"""What was learned for each of several optimizers."""

from __future__ import annotations

import pytest
from analyses import Make, phase

from hotloop.analyze.optimizers import optimizers
from hotloop.report.console.terminal import Style
from hotloop.report.console.text import text_report
from hotloop.report.document import make_report
from hotloop.report.markdown import render
from hotloop.report.words.headline import headline_parts, optimizer_line

LEARNING = (phase("learn.forward", 2.0), phase("learn.backward", 3.0), phase("imagine", 1.0))
COUNTED = {
    "optimizer_steps:model_opt": 100,
    "optimizer_ns:model_opt": 1e9,
    "optimizer_steps:actor_opt": 50,
    "optimizer_ns:actor_opt": 2e9,
}


def test_learning_time_is_distributed_as_it_was_measured(make: Make) -> None:
    actor, model = optimizers(make(*LEARNING, phase("env.step", 4.0), **COUNTED))
    assert (actor.name, actor.steps, model.name, model.steps) == ("actor_opt", 50, "model_opt", 100)
    assert actor.seconds == pytest.approx(4.0)
    assert model.share == pytest.approx(0.2)


def test_a_single_optimizer_is_not_listed(make: Make) -> None:
    single = make(*LEARNING, **{"optimizer_steps:opt": 10})
    assert optimizers(single) == []
    assert optimizer_line(single) == ""


def test_reports_say_it(make: Make) -> None:
    made = make(*LEARNING, **COUNTED)
    line = optimizer_line(made)
    assert line == (
        "Learning by optimizer, of the loop: `actor_opt` 40.0% (50 steps of 80.0 ms), "
        "`model_opt` 20.0% (100 steps of 20.0 ms)."
    )
    report = make_report(made, [])
    assert line in text_report(report, Style(200))
    assert line in render(report)


def test_a_batch_of_sequences_has_their_number_and_length(make: Make) -> None:
    made = make(gradient_steps=10)
    made.run.counters |= {"samples": 9600, "sequences": 480}
    (updates,) = [part for part in headline_parts(made) if "gradient" in part]
    assert updates.startswith("10 gradient steps (batch size 48 x 20)")
