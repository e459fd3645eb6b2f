"""From windows to figures: loops, corrections, functions, scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hotloop.analyze.analysis import analyze
from hotloop.analyze.functions import is_program_file
from hotloop.analyze.model import Analysis
from hotloop.analyze.timeline import split_timeline
from hotloop.capture.lines import StackRow
from hotloop.capture.reader import Capture, Shard
from hotloop.capture.window import PhaseDelta, Window

S = 1_000_000_000


def delta(calls: int, self_s: float, elapsed_s: float, first: float = 0, last: float = 0) -> Any:
    return PhaseDelta(
        calls,
        round(self_s * S),
        round(elapsed_s * S),
        0,
        0,
        0,
        round(first * S),
        round(last * S),
        {},
    )


def capture(windows: list[Window], header: dict[str, Any] | None = None, **notes: Any) -> Capture:
    shard = Shard("main", {"role": "main", **(header or {})}, notes, windows)
    return Capture(Path("run"), [shard])


def three_parts() -> list[Window]:
    """Two seconds of start-up, three of loop, then an evaluation."""
    return [
        Window(0, 0, 0, 2 * S, {"": delta(0, 0.5, 0), "import": delta(1, 1.5, 1.5, 0.1)}),
        Window(
            1,
            1,
            2 * S,
            4 * S,
            {"env.step": delta(10, 1.8, 1.8, 2.0, 3.9), "": delta(0, 0.2, 0)},
            loop_last_ns=round(3.9 * S),
        ),
        Window(
            2,
            2,
            4 * S,
            7 * S,
            {
                "env.step": delta(5, 0.9, 0.9, 4.0, 5.0),
                "evaluate": delta(1, 1.5, 1.5, 5.2, 6.7),
                "": delta(0, 0.6, 0),
            },
            {"env_steps": 15},
            loop_last_ns=5 * S,
        ),
    ]


def test_start_up_loop_and_the_rest_are_told_apart() -> None:
    analysis = analyze(capture(three_parts()))
    run = analysis.run
    assert (run.wall_s, run.startup_s, run.loop_s, run.after_s) == (7, 2, 3, 2)
    assert [p.name for p in analysis.phases] == ["env.step"]
    assert [p.name for p in analysis.startup] == ["import"]
    assert [p.name for p in analysis.after] == ["evaluate"]
    assert analysis.phases[0].total_s == pytest.approx(2.7)
    assert analysis.coverage == pytest.approx(0.9)
    assert analysis.outside_s == pytest.approx(0.3)
    assert analysis.unexplained == pytest.approx(0.1)
    assert run.steps_per_s == pytest.approx(5)


def test_without_a_loop_the_whole_run_counts() -> None:
    timeline = split_timeline(three_parts()[:1])
    assert not timeline.found_loop
    assert timeline.loop_s == 2


def test_an_empty_capture_is_an_empty_analysis() -> None:
    analysis = analyze(capture([]))
    assert (analysis.run.wall_s, analysis.phases, analysis.coverage) == (0, [], 0)


def one_window(phases: dict[str, PhaseDelta], **options: Any) -> Analysis:
    return analyze(capture([Window(0, 0, 0, 10 * S, phases, loop_last_ns=10 * S)], **options))


def test_own_cost_is_taken_out_of_every_figure() -> None:
    cost = {"cost": {"inside_ns": 100.0, "outside_ns": 400.0}}
    calls = 1_000_000
    analysis = one_window(
        {
            "learn": delta(1, 4.0, 9.0, 0.0, 10),
            "learn/inner": delta(calls, 5.0, 5.0),
            "": delta(0, 1.0, 0),
        },
        header=cost,
    )
    learn, inner = analysis.phase("learn"), analysis.phase("learn/inner")
    assert learn is not None
    assert inner is not None
    assert inner.self_s == pytest.approx(5.0 - 0.1)
    assert learn.self_s == pytest.approx(4.0 - 0.4, abs=1e-6)
    assert learn.total_s == pytest.approx(9.0 - 0.5, abs=1e-6)
    assert analysis.run.loop_s == pytest.approx(10 - 0.5, abs=1e-5)
    assert analysis.overhead.share == pytest.approx(0.05, rel=1e-3)
    assert analysis.overhead.corrected


def test_an_absurd_cost_does_not_erase_the_figures() -> None:
    for cost in ({"inside_ns": 1e18, "outside_ns": 0}, {"inside_ns": "x"}, 5):
        analysis = one_window({"a": delta(1, 5.0, 5.0)}, header={"cost": cost})
        assert analysis.phases[0].total_s == pytest.approx(5.0, abs=0.01)


def test_unexplained_is_parents_and_what_is_in_no_phase() -> None:
    analysis = one_window(
        {
            "collect": delta(1, 2.0, 6.0, 0, 10),
            "collect/env.step": delta(1, 4.0, 4.0),
            "learn": delta(1, 1.0, 3.0),
            "learn/learn.backward": delta(1, 2.0, 2.0),
            "": delta(0, 1.0, 0),
        }
    )
    assert analysis.coverage == pytest.approx(0.9)
    assert analysis.unexplained == pytest.approx(0.4)


def test_the_tree_comes_parents_first_and_largest_first() -> None:
    analysis = one_window(
        {
            "b/x": delta(1, 1, 1),
            "a": delta(1, 1, 2),
            "b": delta(1, 1, 4),
            "b/y": delta(1, 2, 2),
            "a/z": delta(1, 1, 1),
        }
    )
    assert [p.path for p in analysis.phases] == ["b", "b/y", "b/x", "a", "a/z"]
    assert [p.depth for p in analysis.phases] == [0, 1, 1, 0, 1]


def test_a_place_without_its_parent_still_stands_somewhere() -> None:
    analysis = one_window({"lost/child": delta(1, 1, 1)})
    assert [p.path for p in analysis.phases] == ["lost", "lost/child"]


def test_functions_of_a_phase_from_its_samples() -> None:
    window = Window(0, 0, 0, 10 * S, {"env.step": delta(1, 10, 10)}, loop_last_ns=10 * S)
    window.samples = {
        ("env.step", 2, 0): [60, 6 * S],
        ("env.step", 2, 1): [10, 1 * S],
        ("env.step", 3, 2): [20, 2 * S],
        ("env.step", 99, 0): [1, S],
    }
    shard = Shard("main", {"role": "main"}, {}, [window])
    shard.stacks = {
        1: StackRow(1, 0, "/home/u/train.py", "main", 1, 5),
        2: StackRow(2, 1, "/home/u/env.py", "Env.step", 10, 12),
        3: StackRow(3, 2, "/usr/lib/python3.11/copy.py", "deepcopy", 128, 140),
    }
    functions = analyze(Capture(Path("run"), [shard])).functions
    step = next(f for f in functions if f.function == "Env.step")
    assert (step.self_s, step.total_s, step.hot_line, step.of_program) == (7, 9, 12, True)
    assert step.python_share == pytest.approx(6 / 7)
    copy = next(f for f in functions if f.function == "deepcopy")
    assert (copy.waiting_share, copy.of_program) == (1, False)
    main = next(f for f in functions if f.function == "main")
    assert (main.self_s, main.total_s) == (0, 9)


@pytest.mark.parametrize(
    ("file", "own"),
    [
        ("/home/u/project/train.py", True),
        (r"C:\Users\u\project\train.py", True),
        ("/home/u/.venv/lib/python3.11/site-packages/torch/nn/modules/module.py", False),
        ("/usr/lib/python3/dist-packages/numpy/core.py", False),
        (r"C:\Python311\Lib\json\decoder.py", False),
        ("<frozen importlib._bootstrap>", False),
        ("<string>", False),
    ],
)
def test_the_programs_own_files_are_known(file: str, own: bool) -> None:
    assert is_program_file(file) is own


def test_scores_and_marks() -> None:
    analysis = one_window(
        {"render": delta(20, 4, 4), "model": delta(10_000, 1, 1)},
        memory_peaks={"render": [900_000_000, 150_000_000]},
        gpu_memory_peaks={"model": 50_000_000},
    )
    render, model = analysis.phase("render"), analysis.phase("model")
    assert render is not None
    assert model is not None
    assert render.marks == ["CRITICAL", "SLOW", "MEMORY"]
    assert render.score == pytest.approx(100 * (0.4 * 0.4 + 0.3 + 0.15))
    assert model.marks == []
    assert model.score == pytest.approx(100 * (0.4 * 0.1 + 0.3 * 0.001 + 0.15 * 0.5))


def test_other_processes_are_beside_the_main_one() -> None:
    main = capture(three_parts()).main
    worker = Shard("worker-7", {"role": "worker", "pid": 7}, {}, three_parts())
    analysis = analyze(Capture(Path("run"), [main, worker]))
    assert analysis.run.processes == 2
    assert {p.process for p in analysis.phases} == {"main", "worker"}
    assert [p.name for p in analysis.processes] == ["main", "worker"]
    # The worker's steps are the parent's steps: they are not counted twice.
    assert analysis.run.env_steps == 15


@pytest.mark.parametrize(("steps", "counted"), [((40, 40, 39), 40), ((40, 52, 31), 123)])
def test_learners_that_work_in_step_make_one_gradient_step_together(
    steps: tuple[int, ...], counted: int
) -> None:
    main = capture([Window(0, 0, 0, S)]).main
    learners = [
        Shard(f"w-{i}", {"pid": i}, {}, [Window(0, 0, 0, S, counters={"gradient_steps": amount})])
        for i, amount in enumerate(steps)
    ]
    analysis = analyze(Capture(Path("run"), [main, *learners]))
    assert analysis.run.counters["gradient_steps"] == counted
