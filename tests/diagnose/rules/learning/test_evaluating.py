"""Rules on evaluations, logging and saving."""

from __future__ import annotations

import pytest
from analyses import Make, frame, phase, sample

from hotloop.diagnose.rules.learning import schedule


@pytest.mark.parametrize(("seconds", "said"), [(0.9, False), (1.1, True)])
def test_evaluations_from_their_share(make: Make, seconds: float, said: bool) -> None:
    analysis = make(phase("evaluate", seconds, 4), env_steps=1000)
    assert bool(schedule.evaluation(analysis)) is said


@pytest.mark.parametrize(("seconds", "said"), [(3.9, False), (4.1, True)])
def test_a_few_evaluations_only_where_they_are_long(make: Make, seconds: float, said: bool) -> None:
    assert bool(schedule.evaluation(make(phase("evaluate", seconds, 3), env_steps=1000))) is said


def test_the_place_of_an_evaluation_is_the_line_that_asks_for_it(make: Make) -> None:
    library = "/venv/lib/python3.11/site-packages/stable_baselines3/common/evaluation.py"
    own = (frame("Net.greedy", line=5), frame("test_agent", line=9), frame("train", line=40))
    theirs = (frame("Env.physics", line=5), frame("evaluate_policy", library), own[-1])
    for stack in (own, theirs):
        analysis = make(
            phase("evaluate", 5.0, 9), samples=[sample("evaluate", 5.0, *stack)], env_steps=1000
        )
        (found,) = schedule.evaluation(analysis)
        assert (found.where[0].function, found.where[0].line) == ("train", 40)


@pytest.mark.parametrize(
    ("name", "loop_line", "said"),
    [
        ("eval_env.step", 20, True),
        ("self.test_envs.step", 20, True),
        ("env.step", 20, False),
        ("eval_env.step", 3, False),  # in the training's own loop: what else is there is unknown
        ("eval_env.close", 20, False),
    ],
)
def test_an_evaluation_in_the_middle_of_the_code(
    make: Make, name: str, loop_line: int, said: bool
) -> None:
    lines = {"10": [["env.step"], 3], "21": [["act"], loop_line], "22": [[name], loop_line]}
    taken = [
        sample("env.step", 4.0, frame("Env.step", line=99), frame("train", line=10)),
        sample("policy.act", 2.0, frame("train", line=21)),
        sample("env.step", 3.0, frame("Env.step", line=99), frame("train", line=22)),
    ]
    analysis = make(samples=taken, notes={"lines": {taken[1].frames[0].file: lines}}, env_steps=9)
    found = schedule.evaluation(analysis)
    assert bool(found) is said
    if said:
        assert found[0].evidence["seconds"] == pytest.approx(5.0)
        assert found[0].where[0].line == 22


def test_what_a_callback_plays_is_an_evaluation(make: Make) -> None:
    phases = (
        phase("collect/callback/env.step", 2.0, 500),
        phase("collect/callback/policy.act", 2.0, 500),
        phase("collect/env.step", 1.0, 1000),
    )
    samples = [sample("collect/callback/env.step", 2.0, frame("Coach._on_step", line=39))]
    (found,) = schedule.evaluation(make(*phases, samples=samples, env_steps=1000))
    assert found.evidence["seconds"] == pytest.approx(4.0)
    assert found.where[0].line == 39
    assert schedule.evaluation(make(phases[1], phases[2], env_steps=1000)) == []
    # The line that asks for it, not the one that starts the library or plays.
    library = frame("collect_rollouts", "/venv/site-packages/stable_baselines3/common/on_policy.py")
    asked = frame("Coach.play", line=58), frame("Coach._on_step", line=39), library
    played = [sample("collect/callback/env.step", 2.0, *asked, frame("<module>", line=76))]
    (found,) = schedule.evaluation(make(*phases, samples=played, env_steps=1000))
    assert found.where[0].line == 39


def test_a_loop_that_learns_is_no_evaluation(make: Make) -> None:
    """An evaluation written with `while`, inside the training's own `for`."""
    lines = {"20": [["eval_env.step"], 15], "30": [["agent.update"], 15]}
    analysis = make(
        phase("env.step", 4.0, 1000),
        samples=[
            sample("env.step", 3.0, frame("main", line=20)),
            sample("learn/learn.backward", 6.0, frame("update", line=90), frame("main", line=30)),
        ],
        notes={"lines": {"/home/me/train.py": lines}},
        env_steps=1000,
    )
    assert schedule.evaluation(analysis) == []


@pytest.mark.parametrize(
    ("apart", "trains", "said"),
    [
        ("examinar", "main", True),
        ("examinar", "examinar", False),  # it learns from what it plays
        ("main", "main", False),
    ],
)
def test_a_function_that_only_plays_beside_the_training_evaluates(
    make: Make, apart: str, trains: str, said: bool
) -> None:
    step, main = frame("Mundo.paso", line=99), frame("main", line=20)
    outer = () if apart == "main" else (main,)
    taken = [
        sample("env.step", 4.0, step, frame("main", line=10)),
        sample("policy.act", 1.0, frame(apart, line=31), *outer),
        sample("env.step", 2.0, step, frame(apart, line=32), *outer),
        sample("learn.backward", 2.0, frame("main", line=12)),
        sample("learn.backward", 1.0, frame(trains, line=33), main),
    ]
    notes = {"shapes": {"env.step": ["__main__:Mundo.paso"]}}
    found = schedule.evaluation(make(samples=taken, notes=notes, env_steps=9))
    assert bool(found) is said
    if said:
        assert found[0].evidence["seconds"] == pytest.approx(3.0)
        assert found[0].where[0].line == 20
