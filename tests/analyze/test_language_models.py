"""Tokens and completions of a run that trains a language model."""

from __future__ import annotations

import pytest
from analyses import LOOP_S, make_analysis, phase

from hotloop.analyze.language_models import tokens
from hotloop.capture import schema


def test_rates_lengths_and_waste() -> None:
    found = tokens(
        make_analysis(
            phase("generate", 4.0),
            **{
                schema.COMPLETIONS: 20,
                schema.GENERATE_CALLS: 5,
                schema.GENERATE_UNCACHED: 1,
                schema.PROMPT_TOKENS: 200,
                schema.TOKENS_GENERATED: 600,
                schema.DECODE_SLOTS: 800,
                schema.TOKENS_LEARNED: 300,
                schema.LEARN_SLOTS: 400,
            },
        )
    )
    assert found is not None
    assert (found.batch_size, found.prompt_length, found.completion_length) == (4.0, 10.0, 30.0)
    assert (found.tail_share, found.padding_share) == (0.25, 0.25)
    assert found.generated_per_s == pytest.approx(600 / LOOP_S)
    assert found.learned_per_s == pytest.approx(300 / LOOP_S)
    assert found.completions_per_s == pytest.approx(20 / LOOP_S)
    assert found.uncached == 1


def test_unknown_slots_waste_nothing() -> None:
    found = tokens(make_analysis(phase("generate", 4.0), **{schema.COMPLETIONS: 2}))
    assert found is not None
    assert (found.tail_share, found.padding_share, found.batch_size) == (0.0, 0.0, 0.0)


def test_a_run_that_generates_nothing_has_none() -> None:
    assert tokens(make_analysis(phase("env.step", 4.0))) is None
