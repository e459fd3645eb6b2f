"""Rules on how frameworks are called: at their thresholds, and silent without what they need."""

from __future__ import annotations

from typing import Any

import pytest
from analyses import Make, frame, phase, sample
from framework_windows import check, loop, noted

from hotloop.diagnose import Finding
from hotloop.diagnose.rules.frameworks import framework
from hotloop.diagnose.rules.learning import autograd

# -- tensors of lists --


@pytest.mark.parametrize(("seconds", "said"), [(0.09, False), (0.11, True)])
def test_lists_from_one_percent_of_the_loop(make: Make, seconds: float, said: bool) -> None:
    windows = loop({"list_tensors": 100, "list_tensor_s": seconds})
    assert bool(framework.list_to_tensor(make(windows=windows))) is said


def test_lists_name_the_programs_line(make: Make) -> None:
    windows = loop({"list_tensors": 1000, "list_tensor_s": 5.0})
    found = framework.list_to_tensor(make(windows=windows, notes=noted("tensor of a list")))
    one = check(found, "list-to-tensor")
    assert (one.where[0].file, one.where[0].line) == ("/home/me/train.py", 12)
    assert one.severity == "critical"
    assert one.gain.high / one.gain.low < 2


def test_a_line_that_torch_warned_of_is_timed_by_samples(make: Make) -> None:
    samples = [
        sample("buffer.sample", 3.0, frame("train", line=12)),
        sample("buffer.sample", 4.0, frame("train", line=13)),
    ]
    analysis = make(samples=samples, notes=noted("tensor of a list"))
    assert check(framework.list_to_tensor(analysis), "list-to-tensor").evidence["seconds"] == 3.0


def test_no_warning_below_three_percent(make: Make) -> None:
    (found,) = framework.list_to_tensor(
        make(windows=loop({"list_tensors": 9, "list_tensor_s": 0.2}))
    )
    assert found.severity == "info"


# -- Keras --


@pytest.mark.parametrize(
    ("rows", "per_step", "said"),
    [(1, 1.0, True), (1, 0.021, True), (1, 0.019, False), (1024, 1.0, True), (1025, 1.0, False)],
)
def test_predict_of_few_rows_in_the_loop(
    make: Make, rows: float, per_step: float, said: bool
) -> None:
    calls = 1000 * per_step
    counters = {
        "predict_calls": calls,
        "predict_rows": calls * rows,
        "predict_s": 8.0,
        "env_steps": 1000,
    }
    found = framework.predict_in_loop(make(windows=loop(counters), notes=noted("predict")))
    assert bool(found) is said
    if said:
        assert check(found, "predict-in-loop").where[0].line == 12


@pytest.mark.parametrize(
    ("rows", "in_a_row", "said"), [(1, 32, True), (2.1, 32, False), (1, 8, True), (1, 7, False)]
)
def test_single_rows_many_times_in_a_row(
    make: Make, rows: float, in_a_row: float, said: bool
) -> None:
    counters = {"gradient_steps": 100 * in_a_row, "samples": 100 * in_a_row * rows}
    windows = loop(counters | {"learn_events": 100})
    found = framework.per_sample_update(make(phase("learn", 9.0), windows=windows))
    assert bool(found) is said
    if said:
        assert check(found, "per-sample-update").learning


def test_targets_of_a_whole_batch_have_their_rows_already(make: Make) -> None:
    windows = loop({"gradient_steps": 3200, "samples": 3200, "learn_events": 100})
    phases = phase("learn.step", 5.0, 3200), phase("learn.forward", 2.0, 200)
    one = check(framework.per_sample_update(make(*phases, windows=windows)), "per-sample-update")
    assert one.evidence["seconds"] == pytest.approx(5.0)


def test_the_place_of_single_updates_is_the_loop_that_makes_them(make: Make) -> None:
    file = "/home/me/train.py"
    stack = (frame("Net.forward", line=5), frame("update_one", line=20), frame("replay", line=31))
    analysis = make(
        phase("learn.forward", 9.0, 3200),
        samples=[sample("learn.forward", 9.0, *stack, frame("main", line=60))],
        windows=loop({"gradient_steps": 3200, "samples": 3200, "learn_events": 100}),
        # A network's own loop over its layers is not the one that is looked for.
        notes={"lines": {file: {"5": [["layer"], 4], "20": [["net"], 0], "31": [["one"], 30]}}},
    )
    one = check(framework.per_sample_update(analysis), "per-sample-update")
    assert (one.where[0].line, one.where[0].function) == (31, "replay")


def test_learning_as_one_goes_is_no_loop_over_a_batch(make: Make) -> None:
    windows = loop({"gradient_steps": 1000, "samples": 1000, "learn_events": 1000})
    assert framework.per_sample_update(make(phase("learn", 9.0), windows=windows)) == []


def test_a_loop_over_agents_that_learns_from_one_row_each(make: Make) -> None:
    file = "/home/me/train.py"
    lines = {file: {"61": [["improve"], 60], "52": [["brain"], 50]}}
    learning = sample("learn", 8.0, frame("improve", line=40), frame("<module>", line=61))

    def found(acting_line: int) -> list[Finding]:
        acting = sample("policy.act", 1.0, frame("<module>", line=acting_line))
        windows = loop({"gradient_steps": 6000, "samples": 6000, "learn_events": 6000})
        samples, notes = [learning, acting], {"lines": lines}
        analysis = make(phase("learn", 8.0), samples=samples, windows=windows, notes=notes)
        return framework.per_sample_update(analysis)

    assert check(found(52), "per-sample-update").where[0].line == 61
    assert not found(61)  # acting and learning by turns: learning as one goes


def test_without_environment_steps_the_calls_that_learn_are_the_events(make: Make) -> None:
    windows = loop({"gradient_steps": 1600, "samples": 1600})
    one = check(
        framework.per_sample_update(make(phase("learn", 9.0, calls=100), windows=windows)),
        "per-sample-update",
    )
    assert one.evidence["updates_in_a_row"] == 16
    assert not framework.per_sample_update(make(phase("learn", 9.0, calls=1600), windows=windows))


# -- garbage --


@pytest.mark.parametrize(("calls", "said"), [(2, False), (4, True)])
def test_more_than_two_collections_are_a_loop(make: Make, calls: int, said: bool) -> None:
    windows = loop({"gc_collects": calls, "gc_collect_s": 5.0})
    found = framework.gc_every_step(make(windows=windows, notes=noted("gc.collect")))
    assert bool(found) is said


def test_collections_are_timed_exactly(make: Make) -> None:
    windows = loop({"gc_collects": 500, "gc_collect_s": 5.0})
    one = check(framework.gc_every_step(make(windows=windows)), "gc-every-step")
    assert one.gain.low < 2.0 <= one.gain.high + 1e-9


# -- autograd --


# -- nothing known --


@pytest.mark.parametrize("rule", framework.RULES + autograd.RULES)
def test_without_facts_every_rule_is_silent(make: Make, rule: Any) -> None:
    phases = [phase("policy.act", 3.0), phase("learn.forward", 3.0), phase("compile", 3.0)]
    assert rule(make()) == []
    assert rule(make(*phases, windows=loop())) == []
    assert rule(make(*phases, windows=loop(), loop_s=0.0)) == []


@pytest.mark.parametrize("notes", [{"places": 3}, {"places": {"gc.collect": [[1], "x", None]}}])
def test_notes_of_another_kind_are_no_places(make: Make, notes: dict[str, Any]) -> None:
    windows = loop({"gc_collects": 500, "gc_collect_s": 5.0})
    (found,) = framework.gc_every_step(make(windows=windows, notes=notes))
    assert found.where == []
