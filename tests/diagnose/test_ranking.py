"""What is shown, in which order, and what one sentence says of it all."""

from __future__ import annotations

from typing import Any

import pytest
from analyses import Make, frame, phase, sample, window

from hotloop.analyze.model import Analysis
from hotloop.diagnose import FAMILIES, diagnose
from hotloop.diagnose.evidence import (
    RUN_NOISE,
    SHARE_ERROR,
    WARM_STARTUP,
    finding,
    gain_of,
    run_gain,
    severity_of,
    whole_run_s,
    won,
)
from hotloop.diagnose.finding import Finding, Gain, Place
from hotloop.diagnose.proving import verify_command
from hotloop.diagnose.ranking import YIELDS_TO, rank
from hotloop.diagnose.verdict import ENOUGH_STEPS, too_short, verdict


def found(id: str, low: float, high: float, severity: str | None = None) -> Finding:
    gain = Gain(low, high)
    return Finding(id, severity or severity_of(gain), f"{id}.", "learn", gain, "high", "", "")


def test_the_largest_gain_comes_first() -> None:
    ranked = rank([found("logging", 1.1, 1.2), found("evaluation", 2.0, 3.0)])
    assert [each.id for each in ranked] == ["evaluation", "logging"]


def test_the_specific_beats_the_general() -> None:
    ranked = rank([found("env-bound", 2.0, 4.0), found("pandas-in-step", 1.9, 3.0)])
    assert [each.id for each in ranked] == ["pandas-in-step"]


def test_the_general_stands_where_the_specific_explains_little() -> None:
    ranked = rank([found("env-bound", 2.0, 4.0), found("pandas-in-step", 1.05, 1.1)])
    assert [each.id for each in ranked] == ["env-bound", "pandas-in-step"]


def test_heavy_environments_in_turn_stand_beside_their_largest_function() -> None:
    """It may be the simulation under another name, and then only cores help."""
    ranked = rank([found("serial-heavy-env", 1.3, 2.0), found("redundant-work-in-step", 2.2, 9.0)])
    assert [each.id for each in ranked] == ["redundant-work-in-step", "serial-heavy-env"]


def test_one_cause_one_finding() -> None:
    ranked = rank([found("logging", 1.1, 1.2), found("logging", 1.3, 1.4)])
    assert [each.gain.low for each in ranked] == [1.3]


def test_nothing_small_is_a_warning() -> None:
    assert severity_of(Gain(1.02, 1.5)) == "info"
    assert severity_of(Gain(1.04, 1.5)) == "warning"
    assert severity_of(Gain(1.6, 2.0)) == "critical"
    ranked = rank([found("logging", 1.1, 1.2), found("python-gae", 1.01, 1.02)])
    assert [each.id for each in ranked] == ["logging"]


def test_a_healthy_run_keeps_its_largest_avoidable_cost(make: Make) -> None:
    ranked = rank([found("python-gae", 1.01, 1.02), found("logging", 1.02, 1.03)])
    assert [each.id for each in ranked] == ["logging"]
    text = verdict(make(phase("learn.backward", 9.0), env_steps=5000), ranked)
    assert text.startswith("Nothing significant: the largest avoidable cost is logging")
    assert "about 2% of the run" in text


def test_healthy_explanations_never_come_before_alarms() -> None:
    ranked = rank([found("longer-episodes", 1, 1, "healthy"), found("logging", 1.1, 1.2)])
    assert [each.id for each in ranked] == ["logging", "longer-episodes"]


def test_every_general_finding_yields_to_ids_that_are_not_itself() -> None:
    assert all(general not in specific for general, specific in YIELDS_TO.items())


def test_gain_is_amdahls() -> None:
    gain = gain_of(0.5, 0.5, 1.0)
    assert gain.low == pytest.approx(1 / 0.75)
    assert gain.high == pytest.approx(2.0)
    assert gain_of(1.0, 1.0, 1.0).high == pytest.approx(100.0)
    assert won(gain) == pytest.approx(0.25)


def test_the_start_up_counts_unless_the_run_was_cut(make: Make) -> None:
    whole = make(phase("learn", 5.0), startup=[phase("import", 10.0)])
    found = run_gain(whole, 5.0, 0.5, 1.0)
    # 5 of 20 seconds, from half of them to all, and what a measurement is off by.
    assert found.low == pytest.approx(1 / (1 - 0.125 * (1 - SHARE_ERROR)))
    assert found.high == pytest.approx((1 + RUN_NOISE) / (1 - 5 / (10 + 10 * WARM_STARTUP)))
    cut = make(phase("learn", 5.0), startup=[phase("import", 10.0)], notes={"stop_after": "5s"})
    assert run_gain(cut, 5.0, 1.0, 1.0).high == pytest.approx(2 * (1 + RUN_NOISE))


def test_a_start_up_that_other_programs_held_up_counts_as_it_would_be_alone(make: Make) -> None:
    def delayed(before: float, in_loop: float, **more: float) -> float:
        """So many seconds of waiting in the ten before the loop, and in its ten."""
        gauges = [
            {"startup_delay_s": before, "main_delay_s": before + in_loop * min(i + 1, 9) / 10}
            for i in range(10)
        ]
        windows = [window(i, {}, gauges=each | more) for i, each in enumerate(gauges)]
        return whole_run_s(make(windows=windows, startup=[phase("import", 10.0)]))

    assert delayed(0.0, 0.0) == pytest.approx(20.0)
    assert delayed(5.0, 0.0) == pytest.approx(15.0)  # half of the start-up was waiting
    assert delayed(5.0, 5.0) == pytest.approx(20.0)  # and so was half of the loop
    assert delayed(5.0, 0.0, torch_threads=8) == pytest.approx(20.0)  # for its own threads


def test_verify_can_be_pasted(make: Make) -> None:
    analysis = make()
    command, _, comment = verify_command(analysis).partition("  # ")
    assert command == "hotloop compare 'train.py --seed 1' 'train_fixed.py --seed 1'"
    assert comment == "after copying train.py to train_fixed.py and making the change there"
    elsewhere = verify_command(analysis, [Place("/home/me/envs.py", 7, "step")])
    assert elsewhere.endswith("using a changed envs.py there")
    # A setting is the whole change: nothing has to be written first.
    assert verify_command(analysis, environment="OMP_NUM_THREADS=1") == (
        "hotloop compare 'train.py --seed 1' 'OMP_NUM_THREADS=1 train.py --seed 1'"
    )


def test_a_change_of_the_work_is_compared_all_the_same(make: Make) -> None:
    assert " --any-work  # after" in verify_command(make(), any_work=True)


def test_verify_of_a_module(make: Make) -> None:
    analysis = make()
    analysis.run.command = ["-m", "package.train", "--seed", "1"]
    assert verify_command(analysis).startswith(
        "hotloop compare '-m package.train --seed 1' '-m package.train_fixed --seed 1'  # after"
    )


def test_a_short_capture_says_so_instead_of_guessing(make: Make) -> None:
    analysis = make(phase("evaluate", 0.9), loop_s=1.0, env_steps=12)
    assert diagnose(analysis) == []
    assert f"12 steps; findings need about {ENOUGH_STEPS}" in verdict(analysis, [])
    assert not too_short(make(loop_s=1.0, env_steps=ENOUGH_STEPS))
    assert not too_short(make(loop_s=6.0, env_steps=3))
    assert "s of training" in too_short(make(loop_s=0.1, env_steps=9000))


def test_nothing_at_all_is_said_of_nothing(make: Make) -> None:
    for family in FAMILIES:
        assert family(make()) == []
        assert family(make(loop_s=0.0)) == []
    assert verdict(make(loop_s=0.0), []).startswith("Nothing was measured")


FULL: dict[str, Any] = {
    "samples": [sample("env.step", 5.0, frame("Env.step"))],
    "notes": {"libraries": {"Stable-Baselines3": {}}, "env_growth": {"x": {"size": 50}}},
    "gauges": {"envs": 8, "envs_in_turn": 8, "observation_bytes": 1e6, "buffer_length": 100},
    "header": {"cores": 4},
    "env_steps": 5000,
    "episodes": 50,
    "gradient_steps": 40_000,
    "samples_": 1,
}
PHASES = [
    phase(name, 1.0)
    for name in ("env.step", "env.reset", "policy.act", "buffer.add", "buffer.sample", "log",
                 "advantage", "checkpoint", "evaluate", "learn", "data", "env.render")
]  # fmt: skip


@pytest.mark.parametrize("missing", [*FULL, "phases"])
def test_a_missing_field_makes_rules_silent_never_wrong(make: Make, missing: str) -> None:
    given = {key: value for key, value in FULL.items() if key != missing}
    given.pop("samples_", None)
    analysis: Analysis = make(*([] if missing == "phases" else PHASES), **given)
    for family in FAMILIES:
        for each in family(analysis):
            assert 1.0 <= each.gain.low <= each.gain.high < 101
            assert each.title
    assert isinstance(verdict(analysis, diagnose(analysis)), str)


def test_odd_notes_are_not_believed(make: Make) -> None:
    odd: list[Any] = [None, 7, "x", [], {"x": None}, {"x": {"size": "large"}}, True]
    for value in odd:
        names = ("env_growth", "machine", "shapes", "libraries", "threads", "networks", "places")
        analysis = make(*PHASES, notes=dict.fromkeys(names, value), env_steps=5000)
        for family in FAMILIES:
            family(analysis)


def test_a_finding_has_all_that_people_need(make: Make) -> None:
    analysis = make(phase("log", 5.0), env_steps=1000)
    each = finding(
        analysis, "logging", title="t", phase="log", seconds=5.0, low=0.8, high=0.9,
        fix="f", confidence="high",
    )  # fmt: skip
    assert each.severity == "critical"
    assert each.evidence["share_of_loop"] == pytest.approx(0.5)
    assert each.verify.startswith("hotloop compare ")


def test_the_verdict_tells_of_time_that_no_phase_explains(make: Make) -> None:
    analysis = make(phase("env.step", 4.8), phase("import", 0.001), env_steps=5000)
    assert "import" not in verdict(analysis, [])
    assert "No phase explains" not in verdict(analysis, [])
    analysis.unexplained = 0.52
    text = verdict(analysis, [])
    assert "The largest phase is env.step (48%). No phase explains 52%" in text
