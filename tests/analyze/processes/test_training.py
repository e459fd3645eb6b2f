"""The thread and the process that train are the subject of the report."""

from __future__ import annotations

import pytest
from made_captures import S, analysis_of, capture_of, change_header, delta, made_shard

from hotloop.analyze.analysis import analyze
from hotloop.analyze.processes.training import training_first
from hotloop.capture.lines import StackRow
from hotloop.capture.reader import Capture, Shard
from hotloop.capture.schema import End
from hotloop.capture.window import PhaseDelta, Window
from hotloop.report.document import make_report, report_document


def run_of(loop: dict[str, PhaseDelta], samples: dict[tuple[str, int, int], list[int]]) -> Capture:
    """Two seconds of start-up, then eight of what is given."""
    windows = [
        Window(0, 0, 0, 2 * S, {"": delta(0, 0.5), "import": delta(1, 1.5)}),
        Window(1, 1, 2 * S, 10 * S, loop, samples=samples, loop_last_ns=10 * S),
    ]
    stacks = {
        1: StackRow(1, 0, "train.py", "train", 1, 5),
        2: StackRow(2, 0, "gui.py", "show", 1, 9),
    }
    shard = made_shard(windows=windows, stacks=stacks)
    return capture_of(*training_first([shard]))


IN_A_THREAD = {
    "": delta(0, 7.9),
    "policy.act": delta(3, 0.1),
    "@thread-2": delta(0, 1.0),
    "@thread-2/collect": PhaseDelta(1, 0, 5 * S),
    "@thread-2/collect/env.step": delta(10, 5.0),
    "@thread-2/learn.backward": delta(10, 2.0),
    "@thread-3/log": delta(1, 1.0),
}


def test_a_loop_in_another_thread_is_the_loop() -> None:
    seen = {("", 2, 2): [90, 8 * S], ("@thread-2/learn.backward", 1, 3): [90, 2 * S]}
    analysis = analyze(run_of(IN_A_THREAD, seen))
    own = {phase.path: phase.total_s for phase in analysis.phases if phase.thread == "main"}
    assert own["collect/env.step"] == pytest.approx(5)
    assert own["learn.backward"] == pytest.approx(2)
    assert analysis.coverage == pytest.approx(7 / 8)
    assert analysis.functions[0].file == "train.py"
    beside = {(phase.thread, phase.name) for phase in analysis.phases if phase.thread != "main"}
    assert beside == {("thread-2", "policy.act"), ("thread-3", "log")}
    assert [phase.name for phase in analysis.startup] == ["import"]


@pytest.mark.parametrize("mains", ["env.step", "learn.backward", "collect"])
def test_a_main_thread_that_trains_stays_the_loop(mains: str) -> None:
    # An actor in a thread of its own, and a learner in the main one, or the other way round.
    analysis = analyze(run_of({**IN_A_THREAD, mains: delta(5, 0.5)}, {}))
    assert {p.name for p in analysis.phases if p.thread == "main"} == {mains, "policy.act"}


def process(name: str, loop: dict[str, PhaseDelta], **counters: float) -> Shard:
    window = Window(0, 0, 0, 10 * S, loop, counters, loop_last_ns=10 * S if len(loop) > 1 else 0)
    return made_shard(name, {"role": name, "cores": 2}, {"remarks": [name]}, [window])


WAITS = {"": delta(0, 9.0), "import": delta(1, 1.0)}


def test_a_process_that_trains_is_the_run() -> None:
    main = process("main", WAITS)
    change_header(main, command=["train.py"])
    short = {"": delta(0, 4.0), "env.step": delta(10, 6.0)}
    long = {"": delta(0, 1.0), "env.step": delta(90, 9.0)}
    shards = [
        main,
        process("Worker-1", short, env_steps=10, gradient_steps=20),
        process("Worker-2", long, env_steps=90, gradient_steps=3),
    ]
    analysis = analysis_of(*training_first(shards))
    assert analysis.run.command == ["train.py"]
    assert analysis.run.env_steps == 100
    assert analysis.run.counters["gradient_steps"] == 23
    assert analysis.coverage == pytest.approx(0.9)
    assert [p.name for p in analysis.processes] == ["main", "launcher", "Worker-1"]
    assert "Worker-2" in analysis.notes.remarks[-1]
    document = report_document(make_report(analysis, []))
    assert [p["name"] for p in document["processes"]] == ["Worker-2", "main", "Worker-1"]
    assert {(p["process"], p["calls"]) for p in document["phases"] if p["name"] == "env.step"} == {
        ("Worker-2", 90),
        ("Worker-1", 10),
    }


def test_only_what_others_did_at_the_same_time_is_added() -> None:
    loop = {"": delta(0, 1.0), "env.step": delta(90, 8.0), "learn.backward": delta(9, 1.0)}
    trainer, later = (process(f"Process-{n}", loop, env_steps=90) for n in (1, 2))
    worker = process("Worker-1", {"": delta(0, 1.0), "env.step": delta(90, 9.0)}, env_steps=90)
    change_header(later, origin_ns=20 * S)
    change_header(trainer, origin_ns=0)
    shards = training_first([process("main", WAITS), trainer, later, worker])
    assert shards[0].notes.trains_in == "Process-1"
    assert analysis_of(*shards).run.env_steps == 90


@pytest.mark.parametrize(
    "drives",
    [
        {"wait": delta(60, 8.0)},
        {"policy.act": delta(100, 0.1)},
        {"learn.backward": delta(2, 0.01)},
        {"evaluate": delta(1, 5.0), "evaluate/env.step": delta(50, 5.0), "wait": delta(50, 0.1)},
    ],
)
def test_who_drives_others_is_the_run(drives: dict[str, PhaseDelta]) -> None:
    steps = {"": delta(0, 0.5), "env.step": delta(100, 9.5)}
    shards = [process("main", {"": delta(0, 1.0), **drives}), process("Worker-1", steps)]
    assert training_first(shards) == shards
    threads = {f"@thread-1/{path}".rstrip("/"): each for path, each in steps.items()}
    shard = process("main", {"": delta(0, 1.0), **drives, **threads})
    assert training_first([shard]) == [shard]


def test_an_evaluation_or_a_moment_is_no_training() -> None:
    for loop in ({"evaluate/env.step": delta(50, 9.0)}, {"env.step": delta(5, 0.01)}):
        shards = [process("main", WAITS), process("Worker-1", {"": delta(0, 1.0), **loop})]
        assert training_first(shards) == shards


def test_the_program_ends_as_what_was_started_does() -> None:
    main = process("main", WAITS)
    trainer = process("Process-1", {"": delta(0, 1), "learn": delta(9, 9)})
    change_header(main, command=["train.py"], origin_ns=0)
    change_header(trainer, command=["worker.py"], origin_ns=3 * S)
    main.end = End({"code": 3})
    main.windows[0].end_ns = 15 * S
    analysis = analysis_of(*training_first([main, trainer]))
    assert analysis.run.command == ["train.py"]
    assert analysis.run.end == End({"code": 3})
    assert (analysis.run.wall_s, analysis.run.startup_s) == (15, 3)
    assert not analysis.processes[0].ended


def test_ranks_make_each_gradient_step_together() -> None:
    loop = {"": delta(0, 1.0), "learn": delta(90, 9.0), "learn/comm": delta(3, 0.1)}
    ranks = [process(f"rank-{n}", loop, env_steps=90, gradient_steps=3) for n in range(2)]
    analysis = analysis_of(*training_first([process("main", WAITS), *ranks]))
    assert analysis.run.env_steps == 180
    assert analysis.run.counters["gradient_steps"] == 3


def test_workers_of_a_process_that_trains_stay_workers() -> None:
    loop = {"": delta(0, 0.5), "collect": delta(5, 0.1), "collect/env.step/wait": delta(5, 9.4)}
    loop["collect"].elapsed_ns = loop["collect/env.step/wait"].elapsed_ns
    worker = process("Worker-1", {"": delta(0, 0.5), "env.step": delta(90, 9.5)}, env_steps=90)
    shards = [process("main", loop), worker]
    assert training_first(shards) == shards


def test_a_main_process_that_waits_for_a_learner_only_follows_it() -> None:
    """It asks an actor for figures to log, after a cluster took most of the run to start."""
    main = process("main", {"": delta(0, 99.0), "wait": delta(16, 1.0)})
    learner = process("Trainer-7", {"": delta(0, 1.0), "learn.backward": delta(100, 1.0)})
    player = process("SelfPlay-8", {"": delta(0, 1.0), "env.step": delta(900, 9.0)}, env_steps=900)
    shards = training_first([main, learner, player])
    assert shards[0].notes.trains_in == "Trainer-7"
    assert analysis_of(*shards).run.env_steps == 900


def test_a_rank_that_the_others_wait_for_is_one_of_them() -> None:
    """It spends little time in the loop's phases: what it does meanwhile may have no name."""
    waits = {
        "": delta(0, 1.0),
        "learn.backward": delta(9, 9.0),
        "learn.backward/comm": delta(9, 8.0),
    }
    works = {
        "": delta(0, 9.0),
        "learn.backward": delta(9, 1.0),
        "learn.backward/comm": delta(9, 0.1),
    }
    ranks = [process("rank-0", works, env_steps=9), process("rank-1", waits, env_steps=9)]
    shards = training_first([process("main", WAITS), *ranks])
    assert shards[0].notes.trains_in == "rank-1"
    assert shards[0].notes.trains_beside == ["rank-0"]
