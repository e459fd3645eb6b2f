"""The tree of phases and functions: it adds up, it is short, and it is small enough."""

from __future__ import annotations

from pathlib import Path

import pytest

from hotloop.analyze.analysis import analyze
from hotloop.analyze.flame import FUNCTION, NO_PHASE, PHASE, Box, flame, groups
from hotloop.analyze.model import Analysis
from hotloop.analyze.stacks import weighted_stacks
from hotloop.capture.lines import StackRow
from hotloop.capture.reader import Capture, Shard
from hotloop.capture.window import PhaseDelta, Window

S = 1_000_000_000
LIBRARY = "/x/site-packages/lib/core.py"

#: id, parent, file, function, first line, line
STACKS = [
    (1, 0, "/p/train.py", "main", 1, 5),
    (2, 1, "/p/train.py", "loop", 10, 12),
    (3, 2, LIBRARY, "call", 1, 2),
    (4, 3, LIBRARY, "call_inner", 5, 6),
    (5, 4, "/p/env.py", "step", 20, 22),
    (6, 5, "/p/env.py", "draw", 40, 41),
    (7, 5, "/p/env.py", "move", 60, 61),
    (8, 5, "/p/env.py", "draw", 40, 44),
]


def shard(name: str, samples: dict[tuple[str, int, int], list[int]]) -> Shard:
    phases = {
        "collect": PhaseDelta(1, 1 * S, 8 * S, 0, 0, 0, 1, 2),
        "collect/env.step": PhaseDelta(10, 7 * S, 7 * S, 0, 0, 0, 1, 2),
        "": PhaseDelta(self_ns=2 * S),
    }
    window = Window(0, 0, 0, 10 * S, phases, {}, dict(samples), {}, 10 * S)
    made = Shard(name, {"role": name, "pid": 7}, {}, [window])
    made.stacks = {row[0]: StackRow(*row) for row in STACKS}
    return made


def analysis(
    *others: str, samples: dict[tuple[str, int, int], list[int]] | None = None
) -> Analysis:
    step = "collect/env.step"
    samples = samples or {
        (step, 6, 0): [10, 2 * S],
        (step, 8, 2): [10, 1 * S],
        (step, 7, 0): [5, 1 * S],
        ("", 2, 0): [1, S],
    }
    return analyze(Capture(Path("run"), [shard(n, samples) for n in ("main", *others)]))


def find(root: Box, name: str) -> Box:
    return next(box for box in root.walk() if box.name == name)


def tree(**options: int) -> Box:
    root = flame(analysis(), **options)
    assert root is not None
    return root


def test_phases_come_first_and_everything_adds_up() -> None:
    root = tree()
    assert [(box.name, box.kind) for box in root.inside] == [("collect", PHASE), (NO_PHASE, PHASE)]
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
    found = analysis("env-1", "env-2", "logger")
    assert groups(found) == {
        "main": ["main"],
        "env (2)": ["env-1", "env-2"],
        "logger": ["logger"],
    }
    root = flame(found, ["env-1", "env-2"])
    assert root is not None
    assert find(root, "collect").total_s == pytest.approx(16)
    assert find(root, "env.step").calls == 20


def test_nothing_measured_is_no_tree() -> None:
    empty = analyze(Capture(Path("run"), [Shard("main", {"role": "main"})]))
    assert flame(empty) is None
    assert weighted_stacks(empty) == []


def test_weighted_stacks_add_up_to_the_phases() -> None:
    stacks = weighted_stacks(analysis())
    by_path: dict[str, float] = {}
    for stack in stacks:
        by_path[stack.path] = by_path.get(stack.path, 0.0) + stack.seconds
    assert by_path == {
        "collect": pytest.approx(1),
        "collect/env.step": pytest.approx(7),
        "": pytest.approx(2),
    }
    assert {stack.phases for stack in stacks} == {
        ("collect",),
        ("collect", "env.step"),
        (NO_PHASE,),
    }
    inner = next(stack for stack in stacks if stack.frames and stack.frames[-1].function == "move")
    assert [frame.function for frame in inner.frames][:2] == ["main", "loop"]
