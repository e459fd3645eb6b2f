"""What is shown, in which order, and what one sentence says of it all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from analyses import Make, found_by, frame, ids, phase, sample
from findings_made import found

from hotloop.analyze.model import Analysis
from hotloop.capture.schema import SourceLine
from hotloop.diagnose import FAMILIES, diagnose
from hotloop.diagnose.evidence import (
    severity_of,
)
from hotloop.diagnose.finding import Gain
from hotloop.diagnose.ranking import YIELDS_TO, rank
from hotloop.diagnose.verdict import judge


def test_the_largest_gain_comes_first() -> None:
    ranked = rank([found("logging", 1.1, 1.2), found("evaluation", 2.0, 3.0)])
    assert [each.id for each in ranked] == ["evaluation", "logging"]


def test_the_specific_beats_the_general() -> None:
    ranked = rank([found("env-bound", 2.0, 4.0), found("pandas-in-step", 1.9, 3.0)])
    assert [each.id for each in ranked] == ["pandas-in-step"]


def test_the_general_stands_where_the_specific_explains_little() -> None:
    ranked = rank([found("env-bound", 2.0, 4.0), found("pandas-in-step", 1.05, 1.1)])
    assert [each.id for each in ranked] == ["env-bound", "pandas-in-step"]


def test_what_says_which_launches_comes_before_their_number() -> None:
    """Both are shown: what is left of the launches is known once the optimizer is fused."""
    general, logging = found("launch-bound", 1.6, 3.4), found("logging", 1.9, 2.2)
    ranked = rank([general, found("unfused-optimizer", 1.7, 2.1), logging])
    assert [each.id for each in ranked] == ["logging", "unfused-optimizer", "launch-bound"]
    ranked = rank([general, found("unfused-optimizer", 1.05, 1.1)])
    assert [each.id for each in ranked] == ["launch-bound", "unfused-optimizer"]


def test_heavy_environments_in_turn_stand_beside_their_largest_function() -> None:
    """It may be the simulation under another name, and then only cores help."""
    ranked = rank([found("serial-heavy-env", 1.3, 2.0), found("redundant-work-in-step", 2.2, 9.0)])
    assert [each.id for each in ranked] == ["redundant-work-in-step", "serial-heavy-env"]


def test_one_cause_one_finding() -> None:
    ranked = rank([found("logging", 1.1, 1.2), found("logging", 1.3, 1.4)])
    assert [each.gain.low for each in ranked] == [1.3]


def test_nothing_small_is_a_warning() -> None:
    assert severity_of(Gain(1.01, 1.04)) == "info"
    assert severity_of(Gain(1.01, 1.10)) == "warning"
    assert severity_of(Gain(1.3, 2.0)) == "critical"
    ranked = rank([found("logging", 1.1, 1.2), found("python-gae", 1.01, 1.02)])
    assert [each.id for each in ranked] == ["logging"]


def test_a_healthy_run_keeps_its_largest_avoidable_cost(make: Make) -> None:
    ranked = rank([found("python-gae", 1.01, 1.02), found("logging", 1.02, 1.03)])
    assert [each.id for each in ranked] == ["logging"]
    verdict = judge(make(phase("learn.backward", 9.0), env_steps=5000), ranked)
    assert verdict.headline.startswith("No cause worth fixing matched (the largest, logging, is")
    assert "`learn.backward`, which no rule explains" in verdict.headline


def test_healthy_explanations_never_come_before_alarms() -> None:
    ranked = rank([found("longer-episodes", 1, 1, "healthy"), found("logging", 1.1, 1.2)])
    assert [each.id for each in ranked] == ["logging", "longer-episodes"]


def test_every_general_finding_yields_to_ids_that_are_not_itself() -> None:
    assert all(general not in specific for general, specific in YIELDS_TO.items())


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
        for each in found_by(family, analysis):
            assert 1.0 <= each.gain.low <= each.gain.high < 101
            assert each.title
    assert judge(analysis, diagnose(analysis)).sentence


def test_odd_notes_are_not_believed(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOTLOOP_STRICT_SCHEMA")
    odd: list[Any] = [None, 7, "x", [], {"x": None}, {"x": {"size": "large"}}, True]
    for value in odd:
        names = ("env_growth", "machine", "shapes", "libraries", "threads", "networks", "places")
        analysis = make(*PHASES, notes=dict.fromkeys(names, value), env_steps=5000)
        for family in FAMILIES:
            found_by(family, analysis)


def test_a_loop_yields_to_what_is_known_about_its_function() -> None:
    """Wherever the phase of that time is seen; not to another line of the same stretch."""
    between = "between inference and forward"
    loop = replace(found("python-loop", 1.5, 2.0), phase=between)
    loop.where = [SourceLine("train.py", 12, "follow")]
    other = replace(found("target-update-loop", 1.5, 2.0), phase="learn.target")
    other.where = [SourceLine("train.py", 13, "follow")]
    assert [each.id for each in rank([loop, other])] == ["target-update-loop"]
    collect = replace(found("gc-every-step", 1.5, 2.0), phase=between)
    collect.where = [SourceLine("train.py", 90, "<module>")]
    assert {each.id for each in rank([loop, collect])} == {"python-loop", "gc-every-step"}
    loop.where = [SourceLine("train.py", 80, "<module>")]
    assert {each.id for each in rank([loop, collect])} == {"python-loop", "gc-every-step"}


def test_one_environment_yields_only_to_what_explains_much_of_it() -> None:
    small, large = found("python-gae", 1.05, 1.08), found("python-gae", 1.6, 2.0)
    choice = found("single-env", 1.5, 2.2)
    assert ids(rank([choice, small])) == ["single-env", "python-gae"]
    assert ids(rank([choice, large])) == ["python-gae"]
