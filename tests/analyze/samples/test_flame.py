"""The tree of phases and functions: it adds up, it is short, and it is small enough."""

from __future__ import annotations

import pytest
from made_captures import analysis_of, made_shard
from sampled_phases import S, analysis

from hotloop.analyze.samples.flame import FUNCTION, PHASE, Box, flame
from hotloop.analyze.samples.weighted_stacks import weighted_stacks
from hotloop.phases import NO_PHASE_LABEL


def find(root: Box, name: str) -> Box:
    return next(box for box in root.walk() if box.name == name)


def tree(**options: int) -> Box:
    root = flame(analysis(), **options)
    assert root is not None
    return root


def test_phases_come_first_and_everything_adds_up() -> None:
    root = tree()
    assert [(box.name, box.kind) for box in root.inside] == [
        ("collect", PHASE),
        (NO_PHASE_LABEL, PHASE),
    ]
    assert root.total_s == pytest.approx(10)
    for box in root.walk():
        inside = sum(inner.total_s for inner in box.inside)
        own = (
            0.0 if box.kind == PHASE and any(i.kind == FUNCTION for i in box.inside) else box.self_s
        )
        assert inside + own + box.hidden_s == pytest.approx(box.total_s)


def test_sampled_functions_share_out_the_exact_time_of_their_phase() -> None:
    root = tree()
    # Four sampled seconds stand for seven measured ones.
    assert find(root, "draw").total_s == pytest.approx(7 * 3 / 4)
    assert find(root, "move").self_s == pytest.approx(7 / 4)
    assert find(root, "draw").waiting_s == pytest.approx(7 / 4)
    assert find(root, "draw").lines == {41: pytest.approx(3.5), 44: pytest.approx(1.75)}


def test_how_the_program_came_to_a_phase_is_left_out() -> None:
    (inner,) = find(tree(), "env.step").inside
    assert (inner.name, inner.of_program, inner.line) == ("step", True, 20)


def test_functions_that_only_call_are_left_out_and_counted() -> None:
    stray = {("collect/env.step", n, 0): [1, S] for n in (1, 6, 7)}
    root = flame(analysis(samples=stray))
    assert root is not None
    step = find(root, "step")
    assert step.skipped == 2
    assert "call_inner" not in {box.name for box in root.walk()}


def test_a_phase_without_samples_is_a_box_without_functions() -> None:
    assert find(tree(), "collect").self_s == pytest.approx(1)
    assert [box.name for box in find(tree(), "collect").inside] == ["env.step"]


def test_too_many_boxes_are_cut_and_their_time_is_kept() -> None:
    root = tree(most=4)
    boxes = list(root.walk())
    assert len(boxes) <= 4
    assert find(root, "collect").total_s == pytest.approx(8)
    assert sum(box.hidden_s for box in boxes) > 0


def test_workers_that_do_the_same_are_one_group() -> None:
    root = flame(analysis("env-1", "env-2", "logger"), ["env-1", "env-2"])
    assert root is not None
    assert find(root, "collect").total_s == pytest.approx(16)
    assert find(root, "env.step").calls == 20


def test_nothing_measured_is_no_tree() -> None:
    empty = analysis_of(made_shard())
    assert flame(empty) is None
    assert weighted_stacks(empty) == []
