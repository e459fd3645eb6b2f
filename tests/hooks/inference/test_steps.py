"""Notes after an environment's step."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hotloop import get_profiler
from hotloop.hooks.context import HookContext
from hotloop.hooks.inference import steps
from hotloop.hooks.inference.step_results import step_result_of

numpy = pytest.importorskip("numpy")


def result_of(envs: int, values: int, generator: random.Random) -> tuple[Any, ...]:
    ends = [numpy.array([generator.random() < 0.2 for _ in range(envs)]) for _ in range(2)]
    if not envs:
        ends = [generator.random() < 0.2, numpy.bool_(generator.random() < 0.2)]
    flags = ends[: values - 3]
    return (numpy.zeros(4), numpy.zeros(envs or 1), *flags, {})


def counted(note: Any, results: list[Any], resets: bool = True) -> dict[str, Any]:
    core = get_profiler().core
    core.enable()
    core.snapshot()
    with core.region("env.reset"):
        pass
    for result in results:
        note(result, "env")
        if resets:
            with core.region("env.reset"):
                pass
    counters: dict[str, Any] = core.snapshot()[2]
    core.disable()
    return {name: counters.get(name, 0) for name in ("env_steps", "episodes")}


def notes() -> steps.StepNotes:
    """The notes of a new run."""
    return HookContext(get_profiler()).steps


def fresh_note() -> Any:
    return notes().one


@pytest.mark.parametrize("values", [4, 5])
@pytest.mark.parametrize("envs", [0, 1, 7])
def test_steps_and_ends_are_counted_alike(envs: int, values: int) -> None:
    generator = random.Random(envs)
    results = [result_of(envs, values, generator) for _ in range(200)]
    note: Any = notes().vector if envs else notes().one
    native = counted(note, results)
    assert native["env_steps"] == 200 * max(envs, 1)
    ended = sum(int(numpy.logical_or(r[2], r[3] if values == 5 else False).sum()) for r in results)
    assert native["episodes"] == ended > 0


@pytest.mark.parametrize("values", [4, 5])
def test_steps_after_an_end_are_no_other_end(values: int) -> None:
    """Programs that look at `terminated` alone step on where the time is over."""
    note = fresh_note()
    going: Any = (0, 0.0, *[False] * (values - 3), {})
    over: Any = (*going[:-2], True, {})
    results = [going, over, over, over]
    assert counted(note, results, resets=False) == {"env_steps": 4, "episodes": 1}
    # A reset that is not seen: the episode continues, and ends again.
    assert counted(note, results * 2, resets=False)["episodes"] == 2
    # Episodes of one step, with resets and in an environment that needs none.
    assert counted(note, [over] * 5, resets=True)["episodes"] == 5
    assert counted(fresh_note(), [over] * 5, resets=False)["episodes"] == 5


def test_environments_in_turn_end_once_each() -> None:
    note = fresh_note()
    core = get_profiler().core
    core.enable()
    core.snapshot()
    envs = [object() for _ in range(3)]
    for ended in (False, True, True, True):
        for env in envs:
            note((0, 0.0, ended, False, {}), env)
    counters = core.snapshot()[2]
    core.disable()
    assert counters["episodes"] == 3


@pytest.mark.parametrize("inside", steps.NOT_TRAINING)
def test_steps_of_an_evaluation_are_not_the_trainings(inside: str) -> None:
    core = get_profiler().core
    core.enable()
    with core.region(inside):
        assert counted(notes().one, [(0, 0.0, True, False, {})]) == {
            "env_steps": 0,
            "episodes": 0,
        }


def test_results_of_another_kind_are_left_to_python() -> None:
    # A list of four, as old environments return it; flags that are lists.
    assert counted(notes().one, [[0, 0.0, True, {}]]) == {"env_steps": 1, "episodes": 1}
    odd = (0, [0.0, 0.0], [True, False], [False, False], {})
    assert counted(notes().vector, [odd]) == {"env_steps": 2, "episodes": 0}


def test_facts_are_looked_at_now_and_then() -> None:
    profiler = get_profiler()
    profiler.gauges.clear()
    result = (numpy.zeros((3, 4)), numpy.zeros(3), numpy.zeros(3, bool), numpy.zeros(3, bool), {})
    counted(notes().vector, [result])
    assert profiler.gauges["envs"] == 3
    assert profiler.gauges["observation_bytes"] == 32


@pytest.mark.parametrize(
    ("result", "steps_of_one", "ended"),
    [
        ((0, 1.0, True), 1, 1),
        ((0, 1.0, False, True), 1, 1),
        ((0, 1.0, False, {}), 1, 0),
        ((0, 1.0, False, True, {}), 1, 1),
        ((0, 1.0, numpy.bool_(True), {}), 1, 1),
        ((0, numpy.ones(2), numpy.array([True, False]), {}), 2, 1),
        ((0, numpy.ones(2), numpy.array([True, False]), numpy.array([True, True]), {}), 2, 2),
    ],
)
def test_a_step_of_either_kind_is_what_its_result_says(
    result: Any, steps_of_one: int, ended: int
) -> None:
    note = notes().of_program(step_result_of)
    assert counted(note, [result] * 10) == {"env_steps": 10 * steps_of_one, "episodes": 10 * ended}


def test_what_arrives_while_a_step_is_looked_at_is_the_programs() -> None:
    class Interrupted:
        def __float__(self) -> float:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        counted(notes().one, [(0, [Interrupted()], False, False, {})])


def test_an_end_that_is_the_programs_own_object_is_not_asked() -> None:
    class Lazy:
        def __bool__(self) -> bool:
            raise AssertionError("asked")

    note = notes().one
    assert counted(note, [(0, 0.0, Lazy(), Lazy(), {})] * 3) == {"env_steps": 3, "episodes": 0}


def test_environments_that_are_stepped_often_each_are_not_in_turn() -> None:
    profiler = get_profiler()
    result = (0, 0.0, False, False, {})
    for often, in_turn in ((1, 2), (3, 1)):
        stepped = notes().one
        profiler.gauges.clear()
        profiler.core.enable()
        for _ in range(20):
            for env in ("first", "second"):
                for _ in range(often):
                    stepped(result, env)
        profiler.core.disable()
        assert profiler.gauges.get("envs_in_turn") == in_turn
