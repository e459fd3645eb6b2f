"""The verdict: what it claims, what it rests on, and what it leaves open."""

from __future__ import annotations

from dataclasses import replace

import pytest
from analyses import Make, found_by, phase, window

from hotloop.analyze.bounds import Bound
from hotloop.analyze.model import Process, RunRow
from hotloop.analyze.one_time_work import Once
from hotloop.diagnose import FAMILIES, diagnose
from hotloop.diagnose.finding import Finding, Gain
from hotloop.diagnose.verdict import (
    BUSY,
    ENOUGH_STEPS,
    judge,
    starvation,
    too_short,
    without_rule,
)


def test_a_short_capture_says_so_instead_of_guessing(make: Make) -> None:
    analysis = make(phase("evaluate", 0.9), loop_s=1.0, env_steps=12)
    assert diagnose(analysis) == []
    assert f"12 steps; findings need about {ENOUGH_STEPS}" in judge(analysis, []).headline
    assert not too_short(make(loop_s=1.0, env_steps=ENOUGH_STEPS))
    assert not too_short(make(loop_s=6.0, env_steps=3))
    assert "s of training" in too_short(make(loop_s=0.1, env_steps=9000))


def test_nothing_at_all_is_said_of_nothing(make: Make) -> None:
    for family in FAMILIES:
        assert found_by(family, make()) == []
        assert found_by(family, make(loop_s=0.0)) == []
    assert judge(make(loop_s=0.0), []).sentence.startswith("Nothing was measured")


def test_a_verdict_without_a_cause_names_what_it_does_not_explain(make: Make) -> None:
    analysis = make(phase("wait", 7.2), phase("env.step", 2.8), env_steps=5000)
    verdict = judge(analysis, [])
    assert verdict.headline == (
        "No known cause matched; 72% of the loop is `wait`, which no rule explains."
    )
    assert (verdict.largest_without_rule, verdict.unexplained_by_rules) == ("wait", 1.0)
    assert "healthy" not in verdict.sentence.lower()
    # Evolution strategies and tables of values have no gradient steps to wait for.
    assert "gradient step" not in verdict.sentence
    assert "Based on 5,000 environment steps over 10.0 s." in verdict.sentence


def test_a_verdict_follows_a_wait_into_other_processes(make: Make) -> None:
    analysis = make(phase("wait", 9.0), phase("learn.backward", 1.0), env_steps=5000)
    table = [
        RunRow("env.step", "act", 2, "computing", 6.0, 0.6, "/home/me/sim.py", 7, "step"),
        RunRow("learn.backward", "main", 1, "computing", 1.0, 0.1, "/home/me/train.py", 3, "f"),
    ]
    assert judge(replace(analysis, run_table=table), []).headline == (
        "No known cause matched; 90% of the loop is spent waiting for other processes: "
        "60% for `env.step` of act x2 (sim.py:7)."
    )


def test_a_program_without_a_known_loop_is_followed_into_its_pool(make: Make) -> None:
    pool = RunRow("(in no phase)", "Pool", 2, "unexplained", 9.0, 0.9, "/home/me/es.py", 8, "score")
    analysis = replace(make(phase("wait", 9.5)), run_table=[replace(pool, inside="score")])
    assert (
        "95% of the run is spent waiting for other processes: 90% for `score` of "
        "Pool x2 (es.py:8)." in judge(analysis, []).headline
    )


def test_a_run_that_ended_in_warm_up_judges_nothing_about_learning(make: Make) -> None:
    windows = [window(0, {}, gauges={"learning_starts": 3000})]
    networks = [{"optimizer": "Adam", "parameters": 100}]
    analysis = make(
        phase("env.step", 8), env_steps=2000, windows=windows, notes={"networks": networks}
    )
    assert judge(analysis, []).headline == (
        "No gradient step yet: the run ended during warm-up (learning starts at 3,000 steps), so "
        "acting and learning are not judged; --stop-after 6000steps gets past it."
    )


def test_a_program_without_reinforcement_learning_is_not_told_of_environments(make: Make) -> None:
    analysis = make(
        phase("learn.backward", 7),
        phase("learn.forward", 2),
        phase("transfer", 0.01),
        gradient_steps=400,
    )
    verdict = judge(analysis, [])
    assert verdict.headline.startswith(
        "No RL loop recognized: this is a loop of 400 gradient steps. "
        "Largest phases: `learn.backward` 70%, `learn.forward` 20%. Name "
    )
    assert "--phase" in verdict.headline
    assert "environment" not in verdict.sentence


def test_many_calls_without_gradients_are_a_rollout_whose_environment_is_unknown(
    make: Make,
) -> None:
    analysis = make(
        phase("inference", 6, 4000), phase("learn.backward", 3, 400), gradient_steps=400
    )
    said = judge(analysis, []).headline
    assert said.startswith("No environment step recognized: this is a loop of 400 gradient steps")
    assert "10 times for each" in said
    assert "--phase env.step=" in said


def test_targets_without_gradients_are_no_rollout(make: Make) -> None:
    analysis = make(phase("inference", 2, 400), phase("learn.backward", 3, 400), gradient_steps=400)
    assert judge(analysis, []).headline.startswith("No RL loop recognized")


def test_a_verdict_names_time_that_no_phase_explains(make: Make) -> None:
    analysis = make(phase("env.step", 4.8), env_steps=5000)
    assert "unexplained" not in judge(analysis, []).sentence
    analysis.unexplained, analysis.outside_s = 0.52, 5.2
    verdict = judge(analysis, [])
    assert "52% of the loop is in no phase" in verdict.headline
    assert "52% of the loop is unexplained" in verdict.sentence


def test_a_verdict_names_a_busy_machine_and_a_single_iteration(make: Make) -> None:
    delays = [{"main_delay_s": 0.9 * i} for i in range(1, 11)]
    windows = [window(i, {}, gauges=gauges) for i, gauges in enumerate(delays)]
    analysis = make(phase("learn", 9.0, calls=1), windows=windows, gradient_steps=40)
    verdict = judge(analysis, [])
    assert verdict.machine == BUSY
    assert "waited for a CPU core 90% of the time" in verdict.sentence
    assert "Only one iteration" in verdict.sentence
    assert not verdict.enough_data


def test_one_time_work_is_not_what_is_left_to_explain(make: Make) -> None:
    analysis = make(phase("import", 4.0), phase("env.step", 3.0))
    analysis.once = [Once("import", "import", 4.0)]
    left = without_rule(analysis, [])
    assert "import" not in left
    assert left["env.step"] == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("lasted_s", "waited", "said"),
    [(9.0, 0.6, "up to 2.5 times"), (9.0, 1.0, "many times"), (0.5, 1.0, "")],
)
def test_only_processes_that_take_part_tell_how_busy_the_machine_is(
    make: Make, lasted_s: float, waited: float, said: str
) -> None:
    """One that crashed at once has waited for all of its short life."""
    worker = Process("w01", 7, lasted_s, 0.0, None, ended=False)
    analysis = replace(
        make(phase("wait", 10.0)), processes=[worker], process_bounds={"w01": Bound(cores=waited)}
    )
    sentence = starvation(analysis)
    assert bool(sentence) is bool(said)
    assert said in sentence


def test_a_finding_explains_what_its_fix_could_remove(make: Make) -> None:
    analysis = make(phase("collect", 8.0, self_s=1.0), phase("collect/env.step", 7.0))
    about = Finding("x", "warning", "t", "env.step", Gain(1.2, 2.0), "high", "", "", ceiling=2.0)
    left = without_rule(analysis, [about])
    assert left["env.step"] == pytest.approx(0.2)
    assert left["collect"] == pytest.approx(0.1)


def test_shares_of_a_program_without_training_are_of_the_run(make: Make) -> None:
    analysis = make(phase("import", 0.3))
    analysis.unexplained = 0.97
    sentence = judge(analysis, []).sentence
    assert "97% of the run is unexplained" in sentence
    assert "`import`" not in sentence  # too small to be where the time goes


@pytest.mark.parametrize("functions", ["exact", "off"])
def test_without_samples_it_says_what_was_not_looked_for(make: Make, functions: str) -> None:
    parts = [phase("learn.optimizer", 8.0), phase("env.step", 2.0)]
    words = f"With --functions {functions} there are no stack samples: causes"
    analysis = make(*parts, env_steps=5000, header={"cores": 4, "functions": functions})
    assert words in judge(analysis, []).sentence
    sampled = make(*parts, env_steps=5000, header={"cores": 4, "functions": "samples"})
    assert "--functions" not in judge(sampled, []).sentence
