"""Rules about actors and learners, one of which waits for the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from analyses import Make, found_by, frame, ids, phase, sample

from hotloop.analyze.bounds import Bound
from hotloop.analyze.model import Analysis, RunRow
from hotloop.diagnose.rules.processes import actors_and_learners

NAMES = ("actor-1", "actor-2")


def actors(
    make: Make, waits_s: float, idle_s: float, bound: Bound, sleeps: bool = False, **header: Any
) -> Analysis:
    """A learner that waits, and two actors that act and step; they are idle for a part of it."""
    made = make(
        phase("wait", waits_s, 500),
        phase("learn.backward", 10.0 - waits_s, 500),
        *(phase("env.step", 7.0, 1000, process=name) for name in NAMES),
        *(phase("policy.act", 1.0, 1000, process=name) for name in NAMES),
        *(phase("wait", idle_s, 100, process=name) for name in NAMES),
        samples=[
            replace(sample("env.step", 7.0, frame("step", line=14), process=name), waiting=sleeps)
            for name in NAMES
        ],
        header={"cores": 4} | header,
        gradient_steps=500,
        env_steps=2000,
    )
    row = RunRow("env.step", "actor", 2, "computing", waits_s * 0.9, waits_s * 0.09)
    bounds = dict.fromkeys(NAMES, bound)
    return replace(made, run_table=[row], process_bounds=bounds)


SLEEPS, COMPUTES = Bound(python=0.1, sleeping=0.9), Bound(python=1.0)
CROWDED = Bound(python=0.5, cores=0.5)


@pytest.mark.parametrize(
    ("waits_s", "idle_s", "bound", "said"),
    [
        (8.0, 0.5, SLEEPS, ["few-actors"]),
        (8.0, 0.5, CROWDED, ["slow-actors"]),
        (1.0, 6.0, COMPUTES, ["slow-learner"]),
        # Each waits a little for the other; or one hardly at all.
        (2.0, 2.0, COMPUTES, []),
        (0.5, 1.0, COMPUTES, []),
    ],
)
def test_the_side_that_the_other_waits_for(
    make: Make, waits_s: float, idle_s: float, bound: Bound, said: list[str]
) -> None:
    analysis = actors(make, waits_s, idle_s, bound, sleeps=bound is SLEEPS)
    found = found_by(actors_and_learners.RULES, analysis)
    assert ids(found) == said
    assert all(each.gain.high <= (each.ceiling or 0) for each in found)


def test_what_actors_do_is_a_share_of_the_loop(make: Make) -> None:
    """Not of the time of the actors, which spend seven eighths of theirs in steps."""
    (slow,) = actors_and_learners.slow_actors(actors(make, 8.0, 0.5, CROWDED, sleeps=False))
    assert slow.title == (
        "The learner waits 80% of the loop for 2 actors; their `env.step` is 72% of the loop"
    )


def test_as_many_actors_as_keep_the_learner_busy(make: Make) -> None:
    """As far as there are cores for their computing, and for the learner's."""
    (few,) = actors_and_learners.few_actors(actors(make, 8.0, 0.5, SLEEPS, sleeps=True))
    assert few.after == "actors = [Process(target=play) for _ in range(10)]"
    assert "2 actors, blocked 100% of their own time" in few.title
    (fewer,) = actors_and_learners.few_actors(actors(make, 8.0, 0.5, SLEEPS, sleeps=True, cores=1))
    assert fewer.after == "actors = [Process(target=play) for _ in range(5)]"
    assert fewer.gain.low < few.gain.low


def test_a_main_process_that_acts_for_its_workers_is_no_learner_alone(make: Make) -> None:
    made = actors(make, 8.0, 0.5, SLEEPS, sleeps=True)
    made = replace(made, phases=[*made.phases, phase("policy.act", 1.0, 1000)])
    assert found_by(actors_and_learners.RULES, made) == []


def test_a_learner_that_waits_for_somebody_else(make: Make) -> None:
    """A replay buffer, say: what the actors did is not most of it."""
    made = actors(make, 8.0, 0.5, SLEEPS, sleeps=True)
    row = RunRow("env.step", "actor", 2, "computing", 2.0, 0.2)
    assert found_by(actors_and_learners.RULES, replace(made, run_table=[row])) == []


@pytest.mark.parametrize(("blocked", "said"), [(0.9, ["few-actors"]), (0.0, [])])
def test_actors_in_threads_share_the_gil(make: Make, blocked: float, said: list[str]) -> None:
    steps = phase("@thread-1/env.step", 9.0, 900, waiting_share=blocked)
    made = make(phase("wait", 8.0, 500), phase("learn.backward", 2.0, 500), gradient_steps=500)
    made = replace(
        made,
        phases=[*made.phases, replace(steps, path="env.step", thread="thread-1")],
        run_table=[RunRow("env.step", "thread", 1, "computing", 7.0, 0.7)],
    )
    assert ids(found_by(actors_and_learners.RULES, made)) == said


@pytest.mark.parametrize(("calls", "said"), [(20_000, True), (1_000, False)])
def test_a_server_that_answers_one_request_at_a_time(make: Make, calls: int, said: bool) -> None:
    """As in Sample Factory: workers play, one process acts for them, another one learns."""
    made = make(
        phase("wait", 9.0, 100),
        phase("inference", 4.0, calls, process="policy_worker-3"),
        phase("env.step", 1.0, 20_000, process="rollout-1"),
        env_steps=20_000,
    )
    rows = [
        RunRow("inference", "policy_worker", 1, "computing", 4.0, 0.4, "train.py", 57, "serve"),
        RunRow("transfer", "policy_worker", 1, "moving data", 1.0, 0.1),
        RunRow("env.step", "rollout", 2, "computing", 0.5, 0.05),
    ]
    found = actors_and_learners.unbatched_inference(replace(made, run_table=rows))
    assert ids(found) == ["unbatched-inference"] * said
    if said:
        assert "1.0 environments per call of its network: 50% of the loop" in found[0].title
