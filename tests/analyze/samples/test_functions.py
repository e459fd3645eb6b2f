"""Functions of a phase from its samples, and which files are the program's."""

from __future__ import annotations

import pytest
from made_captures import S, analysis_of, delta, made_shard

from hotloop.analyze.samples.functions import is_program_file
from hotloop.capture.lines import StackRow
from hotloop.capture.reader import Shard
from hotloop.capture.window import Window

TRAIN, LIBRARY = "/home/u/train.py", "/usr/lib/python3.11/"


def sampled(
    samples: dict[tuple[str, int, int], list[int]], *stacks: tuple[int, str, str, int, int]
) -> Shard:
    """Ten seconds of `env.step`; stacks are (parent, file, function, first line, line)."""
    window = Window(0, 0, 0, 10 * S, {"env.step": delta(1, 10)}, samples=samples)
    window.loop_last_ns = 10 * S
    rows = {number: StackRow(number, *stack) for number, stack in enumerate(stacks, 1)}
    return made_shard(windows=[window], stacks=rows)


def test_functions_of_a_phase_from_its_samples() -> None:
    shard = sampled(
        {
            ("env.step", 2, 0): [60, 6 * S],
            ("env.step", 2, 1): [10, 1 * S],
            ("env.step", 3, 2): [20, 2 * S],
            ("env.step", 99, 0): [1, S],
        },
        (0, TRAIN, "main", 1, 5),
        (1, "/home/u/env.py", "Env.step", 10, 12),
        (2, LIBRARY + "copy.py", "deepcopy", 128, 140),
    )
    functions = analysis_of(shard).functions
    step = next(f for f in functions if f.function == "Env.step")
    assert (step.self_s, step.total_s, step.hot_line, step.of_program) == (7, 9, 12, True)
    assert step.python_share == pytest.approx(6 / 7)
    copy = next(f for f in functions if f.function == "deepcopy")
    assert (copy.waiting_share, copy.of_program) == (1, False)
    main = next(f for f in functions if f.function == "main")
    assert (main.self_s, main.total_s) == (0, 9)


def test_what_other_threads_ran_is_a_table_of_its_own() -> None:
    shard = sampled(
        {
            ("env.step", 1, 0): [100, 10 * S],
            ("@thread-7", 2, 1): [60, 6 * S],
            ("@thread-1/buffer.add", 2, 0): [40, 4 * S],
            ("@thread-7", 2, 4): [90, 9 * S],  # waits for a lock
            ("@thread-2", 2, 5): [50, 5 * S],  # has no core
        },
        (0, TRAIN, "main", 1, 5),
        (0, "/home/u/writer.py", "compress", 10, 12),
    )
    analysis = analysis_of(shard)
    assert [f.function for f in analysis.functions] == ["main"]
    assert {f.phase: f.self_s for f in analysis.thread_functions} == {"": 6, "buffer.add": 4}
    assert sum(f.share for f in analysis.thread_functions) == pytest.approx(1)


def test_every_line_that_led_to_a_library_function_is_named() -> None:
    shard = sampled(
        {
            ("env.step", 2, 4): [60, 6 * S],
            ("env.step", 4, 4): [39, int(3.9 * S)],
            ("env.step", 6, 4): [1, int(0.1 * S)],  # too little to be named
        },
        (0, TRAIN, "main", 1, 5),
        (1, LIBRARY + "threading.py", "wait", 128, 140),
        (0, TRAIN, "main", 1, 9),
        (3, LIBRARY + "threading.py", "wait", 128, 140),
        (0, TRAIN, "main", 1, 12),
        (5, LIBRARY + "threading.py", "wait", 128, 140),
    )
    wait = next(f for f in analysis_of(shard).functions if f.function == "wait")
    assert (wait.from_file, wait.from_line) == ("/home/u/train.py", 5)
    assert [(c.line, c.share) for c in wait.callers] == [
        (5, pytest.approx(0.6)),
        (9, pytest.approx(0.39)),
    ]


def test_a_thread_that_mostly_waits_is_listed_for_as_long_as_it_ran() -> None:
    shard = sampled(
        {
            ("env.step", 1, 0): [100, 10 * S],
            ("@thread-7", 2, 1): [8, 2 * S],
            ("@thread-7", 2, 4): [42, 8 * S],
        },
        (0, TRAIN, "main", 1, 5),
        (0, "/home/u/writer.py", "compress", 10, 12),
    )
    found = analysis_of(shard).thread_functions
    assert [(f.function, f.self_s) for f in found] == [("compress", 2)]
    shard.windows[0].samples["@thread-7", 2, 4] = [41, 8 * S]
    assert analysis_of(shard).thread_functions == []


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


def test_samples_that_stand_for_no_time_make_no_report_fail() -> None:
    """A clock of threads may not have moved between two samples."""
    shard = sampled(
        {("env.step", 1, 0): [60, 6 * S], ("env.step", 2, 0): [1, 0]},
        (0, TRAIN, "main", 1, 5),
        (1, LIBRARY + "copy.py", "deepcopy", 128, 140),
    )
    functions = analysis_of(shard).functions
    assert {f.function: f.self_s for f in functions} == {"main": 6.0, "deepcopy": 0.0}
