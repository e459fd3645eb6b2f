"""Rules about loops that wait for other processes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from analyses import Make, frame, ids, phase, sample

from hotloop.analyze.bounds import Bound
from hotloop.analyze.model import Analysis, Process, RunRow
from hotloop.analyze.processes.run_table import BETWEEN, COMMUNICATION, COMPUTING, SLOWEST
from hotloop.capture.schema import Notes
from hotloop.diagnose.rules.processes import ranks_and_runners


def row(name: str, process: str, seconds: float, kind: str = COMPUTING, count: int = 2) -> RunRow:
    return RunRow(name, process, count, kind, seconds, seconds / 10)


def with_table(analysis: Analysis, *rows: RunRow, **notes: Any) -> Analysis:
    return replace(analysis, run_table=list(rows), notes=Notes({**analysis.notes.raw, **notes}))


@pytest.mark.parametrize(
    ("comm_s", "backward_s", "said"), [(4.0, 1.0, True), (1.0, 1.0, False), (4.0, 5.0, False)]
)
def test_a_network_too_small_for_data_parallelism(
    make: Make, comm_s: float, backward_s: float, said: bool
) -> None:
    """Not where communication is short, or an update computes for long."""
    made = make(phase("learn.backward", backward_s, 200), gradient_steps=200)
    analysis = with_table(
        made, row("comm", "main", comm_s, COMMUNICATION), trains_beside=["rank-1"]
    )
    assert ids(ranks_and_runners.rules(analysis)) == ["data-parallel-overhead"] * said


def test_the_reduction_inside_a_backward_pass_is_no_computing(make: Make) -> None:
    inside = phase("learn.backward/comm", 4.5, 200)
    made = make(phase("learn.backward", 5.0, 200), inside, gradient_steps=200)
    analysis = with_table(made, row("comm", "main", 4.5, COMMUNICATION), trains_beside=["rank-1"])
    (found,) = ranks_and_runners.data_parallel_overhead(analysis)
    assert found.evidence["computing_s_per_update"] == pytest.approx(0.5 / 200)


def test_the_batch_of_one_process_is_that_of_all_ranks(make: Make) -> None:
    made = make(phase("learn.backward", 1.0, 200), gradient_steps=200)
    made.run.counters["samples"] = 200 * 64
    analysis = with_table(made, row("comm", "main", 4.5, COMMUNICATION), trains_beside=["rank-1"])
    (found,) = ranks_and_runners.data_parallel_overhead(analysis)
    assert found.before.endswith("# batch size 32 per rank")
    assert found.after.endswith("# batch size 64")


@pytest.mark.parametrize(("logs_s", "said"), [(3.0, True), (0.1, False)])
def test_a_rank_that_the_others_wait_for(make: Make, logs_s: float, said: bool) -> None:
    """Waiting alone is not enough: the slow rank must do something that the others do not."""
    made = make(
        phase("comm", 0.5),
        phase("log", logs_s),
        phase("learn.backward", 4.0),
        phase("comm", 3.5, process="rank-1"),
        phase("learn.backward", 4.0, process="rank-1"),
    )
    waiting = row("(waiting for the slowest)", "rank", 0.0, SLOWEST)
    analysis = with_table(made, waiting, trains_beside=["rank-1"], trains_in="rank-0")
    found = ranks_and_runners.slow_rank(analysis)
    assert ids(found) == ["slow-rank"] * said
    if said:
        assert "wait for rank-0 30% of the loop: it spends more time in `log`" in found[0].title


@pytest.mark.parametrize(
    ("calls", "said"), [(2000, ["few-envs-per-runner"]), (125, ["dear-connectors"])]
)
def test_runners_whose_connectors_cost_more_than_their_environments(
    make: Make, calls: int, said: list[str]
) -> None:
    runners = [phase("env.step", 0.6, calls // 2, process=f"EnvRunner-{i}") for i in (1, 2)]
    made = make(phase("collect/wait", 7.0), *runners, env_steps=2000)
    table = [("connectors", 4.0), ("policy.act", 1.0), ("env.step", 0.6), ("log", 0.5)]
    rows = [row(name, "EnvRunner", seconds) for name, seconds in table]
    assert ids(ranks_and_runners.rules(with_table(made, *rows))) == said
    # Environments that take most of the time are another cause.
    heavy = [replace(each, seconds=5.0) if each.name == "env.step" else each for each in rows]
    assert ranks_and_runners.rules(with_table(made, *heavy)) == []
    # What nothing identifies may be done for each environment.
    unknown = [
        replace(each, name="between step and act") for each in rows if each.name != "env.step"
    ]
    assert ranks_and_runners.rules(with_table(made, *unknown, rows[2])) == []


@pytest.mark.parametrize(
    ("busy", "cpu_s", "said"), [(7, 2.5, True), (3, 6.0, False), (7, 0.5, False)]
)
def test_more_busy_processes_than_cores(make: Make, busy: int, cpu_s: float, said: bool) -> None:
    """Not where other programs keep the cores busy."""
    made = make(phase("wait", 9.0), header={"cores": 2})
    names = [f"env-{i}" for i in range(busy)]
    analysis = replace(
        with_table(made, row("env.step", "env", 5.0), row("", "main", 3.0, BETWEEN)),
        process_bounds={name: Bound(python=0.4, cores=0.6) for name in names},
        processes=[Process(name, 1, 10.0, 9.0, None, True, cpu_s=cpu_s) for name in names],
    )
    assert ids(ranks_and_runners.rules(analysis)) == ["too-many-processes"] * said


@pytest.mark.parametrize(
    ("idle_s", "cores", "said"), [(6.5, 0.0, True), (2.5, 0.0, False), (6.5, 0.5, False)]
)
def test_workers_that_wait_for_the_slowest_of_them(
    make: Make, idle_s: float, cores: float, said: bool
) -> None:
    """Whoever steps the environments; not where workers wait for the main process or for cores."""
    waits = frame("main", line=57)
    made = make(
        phase("wait", 9.5),
        *(phase("wait", idle_s, process=f"ForkProcess-{i}") for i in range(4)),
        samples=[sample("wait", 9.5, waits)],
    )
    table = with_table(made, row("(messages)", "main", 9.0, BETWEEN))
    starved = replace(table, bound=Bound(cores=0.5))
    assert ranks_and_runners.rules(starved) == []  # the main process has no core to go on with
    made = replace(table, process_bounds={"ForkProcess-1": Bound(cores=cores)})
    found = ranks_and_runners.rules(made)
    assert ids(found) == ["stragglers"] * said
    if said:
        assert found[0].where[0].line == 57
        assert found[0].gain.high <= 1 / (1 - idle_s / 10) + 1e-9
