"""A main process that hands out tasks is the run, though its workers step the environments."""

from __future__ import annotations

import pytest
from made_captures import S, analysis_of, change_header, made_shard

from hotloop.analyze.processes.training import training_first
from hotloop.capture.reader import Shard
from hotloop.capture.window import PhaseDelta, Window


def worker(number: int, waits: int = 40) -> Shard:
    """A Pool's worker: it begins four seconds after the main process."""
    phases = {
        "": PhaseDelta(0, S, S),
        "wait": PhaseDelta(waits, 2 * S, 2 * S),
        "env.step": PhaseDelta(500, 5 * S, 5 * S, first_ns=S // 10),
    }
    window = Window(0, 0, 0, 8 * S, phases, {"env_steps": 500}, loop_last_ns=8 * S)
    role = f"ForkPoolWorker-{number}"
    shard = made_shard(role, {"role": role, "pid": 10 + number, "parent": 10}, {}, [window])
    change_header(shard, origin_ns=4 * S)
    return shard


def main_that_waits(times: int) -> Shard:
    """Four seconds of imports; from then on, candidates and waiting for their scores."""
    phases = {
        "": PhaseDelta(0, S, S),
        "import": PhaseDelta(9, 4 * S, 4 * S, first_ns=S // 10),
        "wait": PhaseDelta(times, 7 * S, 7 * S, first_ns=4 * S),
        "@thread-1/wait": PhaseDelta(times, 8 * S, 8 * S, first_ns=4 * S),
    }
    shard = made_shard("main", {"role": "main", "pid": 10}, {}, [Window(0, 0, 0, 12 * S, phases)])
    change_header(shard, origin_ns=0)
    return shard


def test_who_hands_out_tasks_is_the_run() -> None:
    shards = training_first([main_that_waits(40), worker(1), worker(2)])
    analysis = analysis_of(*shards)
    assert analysis.notes.trains_in is None
    assert analysis.run.env_steps == 1000
    assert analysis.run.loop_s == pytest.approx(8.0)
    assert [phase.name for phase in analysis.startup] == ["import"]
    rows = {(row.process, row.name): row.seconds for row in analysis.run_table}
    assert rows["ForkPoolWorker", "env.step"] == pytest.approx(5.0, rel=0.15)


def test_who_only_waits_for_the_end_of_its_workers_is_not() -> None:
    for waits, tasks in ((2, 40), (40, 0)):
        shards = training_first([main_that_waits(waits), worker(1, tasks), worker(2, tasks)])
        assert shards[0].notes.trains_in == "ForkPoolWorker-1"


def test_actors_named_by_those_who_wait_for_them_hand_over_results() -> None:
    main = main_that_waits(40)
    main.notes = made_shard("main", {}, {"waited_for": {"ForkPoolWorker": 7.0}}).notes
    shards = training_first([main, worker(1, 0), worker(2, 0)])
    assert shards[0].header.raw["role"] == "main"
    assert shards[0].notes.trains_in is None
