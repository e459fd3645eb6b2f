"""Rules about many environments in one process."""

from __future__ import annotations

import pytest
from analyses import Make, found_by, frame, ids, phase, sample

from hotloop.diagnose.evidence import callers
from hotloop.diagnose.rules.environments import vectors


@pytest.mark.parametrize(("seconds", "said"), [(3.9, False), (4.1, True)])
def test_one_environment(make: Make, seconds: float, said: bool) -> None:
    analysis = make(
        phase("env.step", 1.0), phase("policy.act", seconds), env_steps=1000, gradient_steps=100
    )
    assert bool(vectors.single_env(analysis)) is said


def test_a_population_has_weights_of_its_own_for_each_member(make: Make) -> None:
    """Nothing learns by gradients: a batch of observations would need one network."""
    analysis = make(phase("env.step", 1.0), phase("policy.act", 8.0), env_steps=1000)
    assert vectors.single_env(analysis) == []


def test_where_actions_are_chosen_leaves_stray_samples_out(make: Make) -> None:
    samples = [
        sample("policy.act", 4.0, frame("main", line=20)),
        sample("policy.act", 0.3, frame("finish_episode", line=90)),
    ]
    analysis = make(phase("policy.act", 8.0), samples=samples, env_steps=1000, gradient_steps=100)
    (found,) = vectors.single_env(analysis)
    assert [place.line for place in found.where] == [20]


@pytest.mark.parametrize(("library", "said"), [("Gymnasium", False), ("PyTorch", True)])
def test_one_environment_and_a_table_is_left_alone(make: Make, library: str, said: bool) -> None:
    analysis = make(
        phase("env.step", 1.0),
        phase("policy.act", 8.0),
        env_steps=1000,
        gradient_steps=100,
        notes={"libraries": {library: {}}},
    )
    assert bool(vectors.single_env(analysis)) is said


def test_one_environment_is_a_choice_and_never_critical(make: Make) -> None:
    analysis = make(
        phase("env.step", 0.5), phase("policy.act", 9.0), env_steps=1000, gradient_steps=100
    )
    (found,) = vectors.single_env(analysis)
    assert found.gain.low > 1.5
    assert found.severity == "warning"


def test_one_environment_that_learns_every_step_is_left_alone(make: Make) -> None:
    analysis = make(
        phase("env.step", 1.0), phase("policy.act", 5.0), env_steps=1000, gradient_steps=1000
    )
    assert vectors.single_env(analysis) == []


@pytest.mark.parametrize(("calls", "said"), [(100, False), (1600, True)])
def test_a_forward_pass_for_each_environment(make: Make, calls: int, said: bool) -> None:
    analysis = make(
        phase("env.step", 1.0, 1600),
        # The gaps around a call are part of its time, and no calls.
        phase("policy.act", 5.0, calls, how="inferred"),
        gauges={"envs_in_turn": 16},
        env_steps=1600,
    )
    assert bool(vectors.unbatched_policy(analysis)) is said


def test_the_place_is_the_programs_own_loop(make: Make) -> None:
    stack = (
        frame("Linear.forward", "/venv/lib/python3.11/site-packages/torch/nn/linear.py"),
        frame("Net.forward", line=7),
        frame("Agent.act", line=31),
        frame("main", line=60),
    )
    analysis = make(
        phase("policy.act", 1.0),
        samples=[sample("policy.act", 1.0, *stack)],
        notes={"shapes": {"policy.act": ["__main__:Agent.act"]}},
    )
    assert callers(analysis, "policy.act")[0].line == 60


def test_an_opponent_inside_a_step_is_the_environments(make: Make) -> None:
    inside = phase("env.step/policy.act", 8.0, 100)
    notes = {"libraries": {"PyTorch": {}}}
    analysis = make(
        phase("env.step", 9.0, 100), inside, env_steps=100, gauges={"envs": 1}, notes=notes
    )
    assert "single-env" not in ids(found_by(vectors.RULES, analysis))


def test_a_loop_that_only_acts_is_found_by_structure(make: Make) -> None:
    file = "/home/me/train.py"
    linear = frame(
        "Linear.forward", "/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py"
    )
    samples = [sample("policy.act", 4.0, linear, frame("<module>", line=38))]
    lines = {"38": [["int", "torch.argmax", "q", "torch.from_numpy"], 37]}
    analysis = make(phase("policy.act", 4.0), samples=samples, notes={"lines": {file: lines}})
    (found,) = vectors.unbatched_policy(analysis)
    assert found.where[0].line == 38
    lines["39"] = [["world.advance"], 37]  # the loop steps something, too
    analysis = make(phase("policy.act", 4.0), samples=samples, notes={"lines": {file: lines}})
    assert not vectors.unbatched_policy(analysis)


@pytest.mark.parametrize(("envs", "said"), [(1, False), (2, True), (8, False)])
def test_few_environments_for_a_large_batch(make: Make, envs: int, said: bool) -> None:
    analysis = make(
        phase("env.step", 1.0, calls=1000),
        phase("policy.act", 6.0),
        env_steps=1000 * envs,
        gradient_steps=10,
        samples=[],
    )
    analysis.run.counters["samples"] = 5120
    assert bool(vectors.too_few_envs(analysis)) is said


@pytest.mark.parametrize(("calls", "said"), [(1000, False), (12_000, True)])
def test_a_forward_pass_for_each_agent(make: Make, calls: int, said: bool) -> None:
    analysis = make(phase("policy.act", 6.0, calls), env_steps=1000, agent_steps=12_000)
    found = vectors.unbatched_policy(analysis)
    assert bool(found) is said
    if found:
        assert "each of 12 agents" in found[0].title


def test_the_line_that_asks_for_one_action_after_another(make: Make) -> None:
    forward, asking = frame("Agent.act", line=82), frame("main", line=113)
    analysis = make(
        phase("policy.act", 6.0, 16_000), phase("env.step", 1.0, 1000),
        samples=[sample("policy.act", 6.0, forward, asking), sample("env.step", 3.0, asking)],
        notes={"lines": {asking.file: {"113": [["agent.act"], 112]}}},
        gauges={"envs": 16}, env_steps=16_000,
    )  # fmt: skip
    (found,) = vectors.unbatched_policy(analysis)
    assert [line.line for line in found.where] == [113]


def test_a_line_in_which_a_library_trains_is_no_loop_that_only_acts(make: Make) -> None:
    network = frame("Linear.forward", "/venv/lib/python3.11/site-packages/torch/nn/linear.py")
    train = frame("<module>", line=8)
    samples = [sample("collect/policy.act", 4.0, network, train)]
    lines = {train.file: {"8": [["algo.train"], 7]}}
    alone = make(phase("policy.act", 4.0), samples=samples, notes={"lines": lines})
    assert ids(vectors.unbatched_policy(alone)) == ["unbatched-policy"]
    samples.append(sample("learn/learn.backward", 1.0, network, train))
    both = make(phase("policy.act", 4.0), samples=samples, notes={"lines": lines})
    assert vectors.unbatched_policy(both) == []


@pytest.mark.parametrize(("passes", "said"), [(2000, True), (48_000, False)])
def test_a_planners_passes_have_rows_of_their_own(make: Make, passes: int, said: bool) -> None:
    """Model-based planning calls its networks many times per step, with a batch of plans."""
    acting = phase("policy.act", 8.0, calls=passes)
    analysis = make(phase("env.step", 1.0), acting, env_steps=1000, gradient_steps=100)
    assert bool(vectors.single_env(analysis)) is said


@pytest.mark.parametrize(("fed_back", "said"), [(False, True), (True, False)])
def test_passes_in_a_loop_where_no_environment_is_known(
    make: Make, fed_back: bool, said: bool
) -> None:
    """Not those that are given what the one before them returned."""
    network = frame("Linear.forward", "/venv/site-packages/torch/nn/modules/linear.py")
    act = frame("main", line=95)
    notes = {"lines": {act.file: {"95": [["net", "torch.from_numpy"], 94]}}}
    if fed_back:
        notes["recurrences"] = {act.file: {"95": ["net"]}}
    analysis = make(samples=[sample("inference", 4.0, network, act)], notes=notes)
    assert ids(vectors.unbatched_policy(analysis)) == ["unbatched-policy"] * said
