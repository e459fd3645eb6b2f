"""Findings of RL on language models."""

from __future__ import annotations

from dataclasses import fields

import pytest
from analyses import Make, ids, phase

from hotloop.analyze.device_use import DeviceUse, PhaseDevice
from hotloop.analyze.language_models import tokens
from hotloop.diagnose.rules.learning.language_models import rules

#: 64 completions of 20 tokens in batches of 32, of which the longest has 25.
MADE = {
    "completions": 64,
    "generate_calls": 2,
    "tokens_generated": 1280,
    "prompt_tokens": 640,
    "decode_slots": 1600,
    "tokens_learned": 1280,
    "learn_slots": 1280,
}


def test_units_of_a_run_that_generates(make: Make) -> None:
    made = tokens(make(phase("generate", 4), **MADE))
    assert made is not None
    assert (made.generated_per_s, made.completions_per_s) == (128.0, 6.4)
    assert (made.prompt_length, made.completion_length, made.batch_size) == (10, 20, 32)
    assert made.tail_share == pytest.approx(0.2)
    assert made.padding_share == 0
    assert tokens(make(phase("env.step", 4), env_steps=10)) is None


def test_a_healthy_run_has_no_finding(make: Make) -> None:
    shares = {"generate": 4, "learn.forward": 3, "learn.backward": 3}
    made = {**MADE, "decode_slots": 1300}
    assert rules(make(*(phase(name, s) for name, s in shares.items()), **made)) == []


def test_weights_of_actors_that_step_environments_are_another_cause(make: Make) -> None:
    assert rules(make(phase("sync.weights", 5), phase("env.step", 4), env_steps=100)) == []


@pytest.mark.parametrize(
    ("finding", "slow", "counters"),
    [
        ("no-kv-cache", "generate", {"generate_uncached": 2}),
        ("generation-batch", "generate.decode", {"generate_calls": 32}),
        ("generation-tail", "generate.decode", {"decode_slots": 3200}),
        ("padding-waste", "learn.forward", {"learn_slots": 2560}),
        ("slow-reward", "reward.check_format", {}),
        ("reference-model", "logprob.reference", {}),
        ("tokenizing", "data.tokenize", {}),
        ("weight-sync", "sync.weights", {}),
    ],
)
def test_each_cause_is_found_alone(
    make: Make, finding: str, slow: str, counters: dict[str, float]
) -> None:
    analysis = make(phase(slow, 5), **{**MADE, "decode_slots": 1300, **counters})
    (found,) = rules(analysis)
    assert ids([found]) == [finding]
    assert found.gain.high <= (found.ceiling or 0) <= 2.7


def test_a_cache_shortens_only_what_the_device_computes(make: Make) -> None:
    def high(kernel_s: float | None) -> float:
        analysis = make(
            phase("generate", 8), **{**MADE, "decode_slots": 1300, "generate_uncached": 2}
        )
        if kernel_s is not None:
            figures = dict.fromkeys((f.name for f in fields(PhaseDevice)), 0.0)
            figures |= {"path": "generate", "known": True, "kernel_s": kernel_s}
            work = PhaseDevice(**figures)  # type: ignore[arg-type]
            analysis.device = DeviceUse(
                "CUDA", "a card", "windows", kernel_s=kernel_s, phases=[work]
            )
        (found,) = [each for each in rules(analysis) if each.id == "no-kv-cache"]
        return found.gain.high

    assert high(None) > 3
    assert 1.5 < high(4.0) < 2.0
