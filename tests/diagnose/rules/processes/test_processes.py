"""Rules about environments in processes of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from analyses import Make, frame, ids, phase, sample, window

from hotloop.analyze.model import Analysis
from hotloop.capture.schema import Notes
from hotloop.diagnose.rules.environments import env_bound
from hotloop.diagnose.rules.processes import processes


def with_workers(make: Make, parent_s: float, worker_s: float, **more: Any) -> Analysis:
    count = int(more.pop("workers", 4))
    return make(
        phase("env.step", parent_s),
        phase("env.step/wait", 0.8 * parent_s),
        *[
            phase("env.step", worker_s, process=f"w{i}", **more.get("of_worker", {}))
            for i in range(count)
        ],
        gauges=more.get("gauges") or {"envs": count, "observation_bytes": 100},
        env_steps=4000,
        header={"cores": more.get("cores", 4)},
    )


@pytest.mark.parametrize(("worker_s", "said"), [(0.7, True), (0.8, False)])
def test_messages_dearer_than_steps(make: Make, worker_s: float, said: bool) -> None:
    found = processes.subprocess_overhead(with_workers(make, 5.0, worker_s))
    assert bool(found) is said


@pytest.mark.parametrize(("waits", "said"), [(4000, True), (40, False)])
def test_workers_behind_pipes_of_the_programs_own(make: Make, waits: int, said: bool) -> None:
    """Nothing in the parent has the name of a step; it waits once for each, or for rollouts."""
    analysis = make(
        phase("wait", 4.0, waits),
        phase("transfer", 2.0, 2 * waits),
        phase("learn/wait", 1.0, 5000),
        *[phase("env.step", 0.3, 1000, process=f"w{i}") for i in range(4)],
        samples=[sample("wait", 4.0, frame("Remote.gather", line=33))],
        gauges={"envs": 4},
        env_steps=4000,
    )
    found = processes.subprocess_overhead(analysis)
    assert bool(found) is said
    if said:
        assert found[0].evidence["parent_env_step_s"] == pytest.approx(6.0)
        assert found[0].where[0].line == 33


def test_large_observations_are_another_cause(make: Make) -> None:
    large = {"envs": 4, "observation_bytes": 1e6}
    analysis = with_workers(make, 5.0, 0.1, gauges=large)
    assert processes.subprocess_overhead(analysis) == []
    assert ids(processes.pickled_observations(analysis)) == ["pickled-observations"]


def test_workers_beyond_the_cores(make: Make) -> None:
    crowded = with_workers(make, 8.0, 4.0, workers=9, cores=4)
    enough = with_workers(make, 8.0, 4.0, workers=8, cores=4)
    assert ids(processes.too_many_envs(crowded)) == ["too-many-envs"]
    assert processes.too_many_envs(enough) == []


def test_waiting_for_the_slowest(make: Make) -> None:
    uneven = with_workers(make, 8.0, 2.0, of_worker={"p50_s": 1e-4, "p99_s": 2e-2})
    even = with_workers(make, 8.0, 2.0)
    assert ids(processes.stragglers(uneven)) == ["stragglers"]
    assert processes.stragglers(even) == []
    # Other programs on the same cores make any steps uneven, but not as much as that.
    busy = [window(i, {}, gauges={"main_delay_s": 0.25 * i}) for i in range(10)]
    uneven.loop_windows = busy
    assert ids(processes.stragglers(uneven)) == ["stragglers"]
    taken = with_workers(make, 8.0, 2.0, of_worker={"p50_s": 1e-3, "p99_s": 1.5e-2})
    assert ids(processes.stragglers(taken)) == ["stragglers"]
    taken.loop_windows = busy
    assert processes.stragglers(taken) == []
    busier = [window(i, {}, gauges={"main_delay_s": 0.35 * i}) for i in range(10)]
    uneven.loop_windows = busier
    assert processes.stragglers(uneven) == []


def test_workers_that_wait_for_something_else_need_no_cores(make: Make) -> None:
    def analysis(waiting: float) -> Analysis:
        busy = [8.0, 1.0, 1.0, 1.0]
        return make(
            phase("env.step", 8.2),
            phase("env.step/wait", 8.1),
            *[
                phase("env.step", seconds, process=f"w{i}", waiting_share=waiting)
                for i, seconds in enumerate(busy)
            ],
            gauges={"envs": 4, "observation_bytes": 100},
            header={"cores": 2},
            env_steps=4000,
        )

    computing = processes.stragglers(analysis(0.0))[0]  # two cores have all of it to do
    assert computing.evidence["seconds"] == pytest.approx(8.1 - 5.5, abs=0.2)
    (found,) = processes.stragglers(analysis(0.99))
    assert found.evidence["seconds"] > 5.0


def test_many_workers_that_sleep_do_not_crowd_the_cores(make: Make) -> None:
    asleep = {"p50_s": 1e-4, "p99_s": 2e-2, "waiting_share": 0.99}
    analysis = with_workers(make, 8.0, 2.0, workers=9, cores=4, of_worker=asleep)
    assert processes.too_many_envs(analysis) == []
    assert ids(processes.stragglers(analysis)) == ["stragglers"]


def test_environments_that_have_all_cores_can_only_be_simpler(make: Make) -> None:
    spread = env_bound.env_bound(with_workers(make, 8.0, 7.9, cores=4))
    alone = env_bound.env_bound(make(phase("env.step", 8.0), env_steps=1000))
    assert spread[0].gain.low < alone[0].gain.low
    assert "separate processes" in alone[0].fix
    assert "separate processes" not in spread[0].fix


@pytest.mark.parametrize(
    ("seconds", "cores", "said"), [(5.0, 4, True), (3.9, 4, False), (5.0, 1, False)]
)
def test_heavy_environments_in_turn(make: Make, seconds: float, cores: int, said: bool) -> None:
    analysis = make(
        phase("env.step", seconds, 250),
        gauges={"envs": 4},
        header={"cores": cores},
        env_steps=1000,
    )
    assert bool(processes.serial_heavy_env(analysis)) is said


@pytest.mark.parametrize(
    ("library", "vector"),
    [
        ("Stable-Baselines3", "SubprocVecEnv"),
        ("Tianshou", "SubprocVectorEnv"),
        ("Gymnasium", "AsyncVectorEnv"),
    ],
)
def test_examples_are_of_the_library_in_use(make: Make, library: str, vector: str) -> None:
    notes = Notes({"libraries": {library: {}}})
    cheap = replace(with_workers(make, 5.0, 0.5), notes=notes)
    crowded = replace(with_workers(make, 8.0, 4.0, workers=9), notes=notes)
    (messages,) = processes.subprocess_overhead(cheap)
    (crowd,) = processes.too_many_envs(crowded)
    assert vector in messages.before
    assert vector in crowd.after
