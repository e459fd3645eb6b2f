"""Figures of phases, functions and processes that follow from others."""

from __future__ import annotations

import pytest
from analyses import Make, phase

from hotloop.analyze.model import Frame, Function, Sample, of_main_thread, seconds_of
from hotloop.capture.schema import Notes, SourceLine


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


def test_a_library_function_is_at_the_line_that_led_to_it() -> None:
    function = Function("learn", "torch.py", "f", 1, "main", 1.0, 1.0, 0.1, 9, 1, 0, 0, False, 7)
    assert function.source_line == SourceLine("torch.py", 7, "f")
    function.from_file, function.from_line = "train.py", 12
    assert function.source_line == SourceLine("train.py", 12, "f")


def test_notes_of_a_process(make: Make) -> None:
    analysis = make(notes={"device": "cuda"})
    analysis.worker_notes = {"w": Notes({"device": "cpu"})}
    assert analysis.notes_of("main").device == "cuda"
    assert analysis.notes_of("w").device == "cpu"
    assert analysis.notes_of("gone") == Notes()
    assert analysis.all_notes == [analysis.notes, analysis.notes_of("w")]


def test_samples_know_the_program_s_own_lines() -> None:
    inner = Frame("numpy/core.py", "Array.sum", 1, 5, False)
    outer = Frame("train.py", "Agent.learn", 10, 12, True)
    sample = Sample("learn/learn.loss", "main", (inner, outer), 2.0)
    assert (sample.phases, sample.phase) == (["learn", "learn.loss"], "learn.loss")
    assert (sample.own, sample.line) == ([outer], SourceLine("train.py", 12, "Agent.learn"))
    assert (inner.short, outer.code) == ("sum", ("train.py", "Agent.learn"))
    assert seconds_of([sample, sample]) == 4.0
