"""A run in a few sentences, and what to do about it."""

from __future__ import annotations

import pytest
from analyses import Make, frame, phase, sample

from hotloop.diagnose import diagnose
from hotloop.diagnose.advice import recommendations, summary

PHASES = [
    phase("policy.act", 6.0),
    phase("learn.fit", 2.0),
    phase("env.step", 1.5),
    phase("log", 0.1),
    phase("policy.act/transfer", 0.05),
]


def test_what_dominates_and_what_does_not(make: Make) -> None:
    text = "\n".join(summary(make(*PHASES, env_steps=1000)))
    assert "The run took 10.0 s, its training loop 10.0 s for 1,000 environment steps." in text
    assert "Dominant: policy.act 60.0%, learn.fit 20.0%, env.step 15.0%." in text
    assert "No bottleneck here: transfer 0.5%, log 1.0%." in text


def test_findings_come_first_then_what_everybody_asks_about(make: Make) -> None:
    analysis = make(
        *PHASES,
        samples=[sample("env.step", 1.5, frame("get", "/venv/site-packages/pandas/x.py"))],
        notes={"networks": [{"parameters": 5059}]},
        gauges={"envs": 8}, env_steps=8000, gradient_steps=100,
    )  # fmt: skip
    analysis.run.counters["samples"] = 6400
    lines = recommendations(analysis, diagnose(analysis))
    assert "pandas" in lines[0]
    assert "times faster" in lines[0]
    kinds = [line.partition(":")[0] for line in lines[1:]]
    assert kinds == ["Model size", "Batch size", "Mixed precision", "Conversions", "Hardware"]
    assert "5,059 parameters" in lines[1]
    assert "batch size 64" in lines[2]
    assert "leave them" in lines[4]


@pytest.mark.parametrize("share", [0.2, 0.4])
def test_conversions_are_worth_a_word_from_their_share(make: Make, share: float) -> None:
    analysis = make(phase("transfer", 10 * share))
    (line,) = [each for each in recommendations(analysis, []) if each.startswith("Conversions")]
    assert "Convert whole batches once" in line


def test_nothing_is_said_of_nothing(make: Make) -> None:
    assert summary(make(loop_s=0.0)) == recommendations(make(loop_s=0.0), []) == []
