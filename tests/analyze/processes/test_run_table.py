"""The loop across processes: who worked while the training process waited."""

from __future__ import annotations

from typing import Any

import pytest
from made_captures import S, analysis_of, capture_of, delta, made_shard

from hotloop.analyze.analysis import analyze
from hotloop.analyze.model import RunRow
from hotloop.analyze.processes.collectives import separate_reductions
from hotloop.analyze.processes.run_table import BETWEEN, SLOWEST
from hotloop.capture.reader import Shard
from hotloop.capture.window import Window


def shard(role: str, pid: int, *seconds: dict[str, float], parent: int = 1, **more: Any) -> Shard:
    """A process with one window of a second for each table of phases."""
    header = {"role": role, "pid": pid, "parent": parent, "host": "here", "origin_ns": 0}
    windows = [
        Window(i, i, i * S, (i + 1) * S,
               {path: delta(10, self_s, self_s) for path, self_s in table.items()},
               loop_last_ns=(i + 1) * S)
        for i, table in enumerate(seconds)
    ]  # fmt: skip
    return made_shard(role, header | more.pop("header", {}), more, windows)


def table(*shards: Shard) -> dict[tuple[str, str], RunRow]:
    analysis = analysis_of(*shards)
    rows = analysis.run_table
    assert sum(row.seconds for row in rows) == pytest.approx(analysis.run.loop_s)
    return {(row.process, row.name): row for row in rows}


def seconds(rows: dict[tuple[str, str], RunRow]) -> dict[tuple[str, str], float]:
    return {key: pytest.approx(row.seconds) for key, row in rows.items()}


def test_waiting_is_what_the_workers_did_meanwhile() -> None:
    main = shard("main", 1, {"collect/wait": 0.8, "learn.backward": 0.2})
    work = {"env.step": 0.3, "collect/policy.act": 0.3, "wait": 0.4}
    runners = [shard(f"runner-{i}", 10 + i, work) for i in range(2)]
    rows = table(main, *runners)
    assert seconds(rows) == {
        ("main", "learn.backward"): 0.2,
        ("runner", "env.step"): 0.3,
        ("runner", "policy.act"): 0.3,
        ("main", "(messages, scheduling)"): 0.2,
    }
    assert rows["runner", "env.step"].processes == 2
    assert rows["main", "(messages, scheduling)"].kind == BETWEEN


def test_the_slowest_of_several_is_waited_for() -> None:
    main = shard("main", 1, {"env.step/wait": 0.9, "learn": 0.1})
    rows = table(main, shard("w-0", 10, {"env.step": 0.9}), shard("w-1", 11, {"env.step": 0.3}))
    assert rows["w", "env.step"].seconds == pytest.approx(0.6)
    assert rows["w", "(waiting for the slowest)"].seconds == pytest.approx(0.3)
    assert rows["w", "(waiting for the slowest)"].kind == SLOWEST


def test_workers_that_also_work_while_the_loop_does_not_wait() -> None:
    """At most the wait is theirs."""
    main = shard("main", 1, {"wait": 0.25, "learn.backward": 0.75})
    rows = table(main, shard("actor-1", 10, {"env.step": 0.6, "policy.act": 0.4}))
    assert seconds(rows)["actor", "env.step"] == 0.15
    assert seconds(rows)["actor", "policy.act"] == 0.1


def test_each_wait_is_for_those_who_do_that_work() -> None:
    main = shard("main", 1, {"data.wait/wait": 0.5, "env.step/wait": 0.4, "learn.backward": 0.1})
    loader = shard("DataLoader-0", 10, {"data.load": 1.0})
    worker = shard("Process-1", 11, {"env.step": 1.0})
    rows = seconds(table(main, loader, worker))
    assert rows["DataLoader", "data.load"] == 0.5
    assert rows["Process", "env.step"] == 0.4


def test_a_worker_that_waits_for_its_own_workers() -> None:
    main = shard("main", 1, {"wait": 0.9, "learn.backward": 0.1})
    collector = shard("collector-0", 10, {"policy.act": 0.2, "env.step/wait": 0.7})
    worker = shard("env-0", 20, {"env.step": 0.6, "wait": 0.4}, parent=10)
    rows = seconds(table(main, collector, worker))
    assert rows["env", "env.step"] == 0.6
    assert rows["collector", "policy.act"] == 0.2
    assert rows["main", "(messages, scheduling)"] == 0.1


def test_windows_are_compared_on_one_clock() -> None:
    """What the worker did before the loop began, or after, fills no wait."""
    main = shard("main", 1, {"wait": 0.9, "learn.backward": 0.1}, header={"origin_ns": 2 * S})
    before, inside = {"import": 1.0}, {"env.step": 0.9, "wait": 0.1}
    rows = table(main, shard("actor-1", 10, before, before, inside, before))
    assert ("actor", "import") not in rows
    assert rows["actor", "env.step"].seconds == pytest.approx(0.9)


def test_ranks_wait_for_the_last_to_join_a_collective() -> None:
    """By what the last one does for longer, where it does."""
    main = shard("main", 10, {"comm": 0.5, "learn.backward": 0.5}, trains_beside=["rank-1"])
    slow = shard("rank-1", 11, {"comm": 0.1, "learn.backward": 0.5, "log": 0.4})
    rows = table(main, slow)
    assert rows["main", "comm"].seconds == pytest.approx(0.1)
    assert rows["rank", "log"].seconds == pytest.approx(0.4)
    other = shard("rank-1", 11, {"comm": 0.1, "learn.backward": 0.5, "wait": 0.4})
    waits = table(main, other)["rank", "(waiting for the slowest)"]
    assert waits.seconds == pytest.approx(0.4)
    assert waits.kind == SLOWEST


def test_a_run_of_one_process_has_no_such_table() -> None:
    alone = capture_of(shard("main", 1, {"learn": 1.0}))
    assert analyze(alone).run_table == []


def test_reductions_inside_a_backward_pass_become_comm() -> None:
    one = shard("rank-0", 10, {"learn.backward": 0.8, "learn.optimizer": 0.2})
    one.windows[0].counters["backward_comm_s"] = 0.5
    phases = separate_reductions(one).windows[0].phases
    assert phases["learn.backward"].self_ns == 0.3 * S
    assert phases["learn.backward/comm"].self_ns == 0.5 * S
    assert phases["learn.backward"].elapsed_ns == 0.8 * S
    # The reader may ask again: the windows that were read stay as they were.
    assert one.windows[0].phases["learn.backward"].self_ns == 0.8 * S
