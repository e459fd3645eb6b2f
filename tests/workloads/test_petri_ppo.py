"""The Petri-net program: its simulator, what `turbo` may change, and whether the agent learns."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workload_programs import Workload, check_names_the_extra, check_refused, figures

pytest.importorskip("torchrl")

WORKLOAD = Workload("petri_ppo")
petri_net, scheduling, environment = WORKLOAD.load("petri_net", "scheduling", "environment")


def small_net(duration: int = 0) -> Any:
    transition = petri_net.Transition("pair", ((0, 2),), ((1, 1),), duration)
    return petri_net.PetriNet(("in", "out"), (transition,), (5, 0))


# -- the simulator --


def test_arc_weights_decide_how_often_a_transition_can_fire() -> None:
    simulator = petri_net.Simulator(small_net())
    simulator.fire(0)
    simulator.fire(0)
    assert simulator.marking == [1, 2]
    assert simulator.enabled == [False]
    with pytest.raises(petri_net.NotEnabledError, match="pair"):
        simulator.fire(0)
    assert simulator.marking == [1, 2]


def test_tokens_arrive_when_the_firing_time_has_passed() -> None:
    simulator = petri_net.Simulator(small_net(duration=7))
    simulator.fire(0)
    assert (simulator.marking, simulator.clock) == ([3, 0], 0)
    assert simulator.advance() == 7
    assert (simulator.marking, simulator.clock) == ([3, 1], 7)


def test_transitions_that_finish_together_deliver_together() -> None:
    simulator = petri_net.Simulator(small_net(duration=7))
    simulator.fire(0)
    simulator.fire(0)
    assert simulator.advance() == 7
    assert simulator.marking == [1, 2]
    assert simulator.in_flight == []


def test_a_net_is_dead_only_when_nothing_is_under_way() -> None:
    simulator = petri_net.Simulator(small_net(duration=7))
    simulator.fire(0)
    simulator.fire(0)
    assert not simulator.is_dead
    simulator.advance()
    assert simulator.is_dead
    with pytest.raises(ValueError, match="nothing is under way"):
        simulator.advance()


@pytest.mark.parametrize(
    ("inputs", "duration", "message"),
    [
        (((5, 1),), 0, "does not exist"),
        (((0, 0),), 0, "at least 1"),
        (((0, 1), (0, 1)), 0, "add their weights"),
        (((0, 1),), -1, "negative"),
    ],
)
def test_a_net_that_makes_no_sense_is_refused(
    inputs: tuple[tuple[int, int], ...], duration: int, message: str
) -> None:
    transition = petri_net.Transition("bad", inputs, (), duration)
    with pytest.raises(ValueError, match=message):
        petri_net.PetriNet(("only",), (transition,), (1,))


# -- the scheduling problem --


class Step(NamedTuple):
    """Everything that can be seen of one step."""

    mask: list[bool]
    action: int
    reward: float
    marking: list[int]
    clock: int
    observation: list[float]


def play(schedule: Any, seed: int) -> list[Step]:
    """A random schedule, step by step."""
    rng = random.Random(seed)
    seen = []
    while not (schedule.complete or schedule.deadlocked):
        mask = schedule.open_actions()
        action = rng.choice([index for index, is_open in enumerate(mask) if is_open])
        reward = schedule.step(action)
        marking, clock = list(schedule.simulator.marking), schedule.simulator.clock
        seen.append(Step(mask, action, reward, marking, clock, schedule.observe()))
    return seen


def test_no_schedule_beats_the_lower_bound_and_returns_say_so() -> None:
    shop = scheduling.random_job_shop(4, 3, seed=0)
    for seed in range(50):
        schedule = scheduling.Schedule(shop)
        total = sum(step.reward for step in play(schedule, seed))
        assert schedule.makespan >= 1.0
        if schedule.complete:
            assert total == pytest.approx(-schedule.makespan)
        else:
            assert total < -scheduling.DEADLOCK_PENALTY


def test_two_jobs_that_wait_for_each_others_room_are_a_deadlock() -> None:
    operation, job = scheduling.Operation, scheduling.Job
    # Two bulky jobs on each side fill both buffers while both machines hold a third.
    there = job((operation(0, 1), operation(1, 1)), 2)
    back = job((operation(1, 1), operation(0, 1)), 2)
    schedule = scheduling.Schedule(scheduling.JobShop((there, there, back, back), 2))
    names = [transition.name for transition in schedule.simulator.net.transitions]
    for name in ("start 0.0", "start 2.0", "leave 0.0", "leave 2.0", "start 1.0"):
        assert not schedule.deadlocked
        schedule.step(names.index(name))
    reward = schedule.step(names.index("start 3.0"))
    assert schedule.deadlocked
    assert reward < -scheduling.DEADLOCK_PENALTY


# -- turbo --


@pytest.mark.parametrize(("jobs", "machines"), [(1, 1), (3, 2), (4, 3), (6, 4), (8, 6), (12, 8)])
def test_turbo_leaves_every_trajectory_as_it_is(jobs: int, machines: int) -> None:
    for seed in range(12):
        shop = scheduling.random_job_shop(jobs, machines, seed)
        with_turbo = play(scheduling.Schedule(shop, turbo=True), seed)
        without = play(scheduling.Schedule(shop, turbo=False), seed)
        assert with_turbo == without


ARCS = st.dictionaries(st.integers(0, 5), st.integers(1, 3), max_size=3)
NETS = st.tuples(
    st.lists(st.tuples(ARCS, ARCS, st.integers(0, 4)), min_size=1, max_size=8),
    st.lists(st.integers(0, 4), min_size=6, max_size=6),
)


@settings(max_examples=150, deadline=None)
@given(net=NETS, choices=st.lists(st.integers(0, 1000), max_size=40))
def test_turbo_finds_the_same_transitions_in_any_net(
    net: tuple[list[tuple[dict[int, int], dict[int, int], int]], list[int]], choices: list[int]
) -> None:
    drawn, marking = net
    transitions = tuple(
        petri_net.Transition(f"t{index}", tuple(inputs.items()), tuple(outputs.items()), duration)
        for index, (inputs, outputs, duration) in enumerate(drawn)
    )
    built = petri_net.PetriNet(tuple("abcdef"), transitions, tuple(marking))
    fast, plain = petri_net.Simulator(built, turbo=True), petri_net.Simulator(built, turbo=False)
    for choice in choices:
        enabled = [index for index, is_enabled in enumerate(plain.enabled) if is_enabled]
        moves = [*enabled, *([-1] if plain.in_flight else [])]
        if not moves:
            break
        for simulator in (fast, plain):
            move = moves[choice % len(moves)]
            if move < 0:
                simulator.advance()
            else:
                simulator.fire(move)
        assert fast.enabled == plain.enabled
        assert fast.marking == plain.marking
        assert (fast.clock, fast.in_flight) == (plain.clock, plain.in_flight)
    assert fast.is_dead == plain.is_dead


def test_turbo_and_the_same_seed_give_the_same_training() -> None:
    arguments = ("--batches", "2", "--frames-per-batch", "256", "--eval-episodes", "5")

    def without_speeds(*more: str) -> list[str]:
        done = WORKLOAD.run(*arguments, *more)
        assert done.returncode == 0, done.stderr
        return re.sub(r" *\d+ frames/s|turbo o\w+", "", done.stdout).splitlines()

    assert without_speeds("--turbo") == without_speeds("--no-turbo")


# -- the environment and the program --


def test_the_environment_keeps_its_own_specifications() -> None:
    from torchrl.envs import check_env_specs

    check_env_specs(environment.make_environment(scheduling.random_job_shop(3, 2, seed=0)))


def test_training_beats_chance(tmp_path: Path) -> None:
    done = WORKLOAD.run("--batches", "12", "--eval-episodes", "40", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    trained, trained_error = figures(done.stdout, "trained")
    chance, chance_error = figures(done.stdout, "random")
    assert trained - chance > 2.0
    assert trained - chance > 5 * (trained_error**2 + chance_error**2) ** 0.5
    assert done.stderr == ""


@pytest.mark.parametrize(
    "arguments", [("--batches", "0"), ("--jobs", "many"), ("--no-such-switch",)]
)
def test_a_bad_argument_is_one_line_and_exit_code_2(arguments: tuple[str, ...]) -> None:
    check_refused(WORKLOAD.run(*arguments))


def test_help_names_the_switches() -> None:
    done = WORKLOAD.run("--help")
    assert done.returncode == 0
    for switch in ("--turbo", "--no-turbo", "--n-hidden", "--n-layer", "--frames-per-batch"):
        assert switch in done.stdout


def test_a_missing_library_names_the_extra() -> None:
    check_names_the_extra(WORKLOAD.run_without_libraries(), "petri")
