"""TRL's trainers on a random model. Needs trl, transformers, datasets and accelerate; no hub."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parents[1] / "library_programs" / "trl_grpo.py"


@pytest.mark.parametrize("algorithm", ["grpo", "rloo"])
def test_counts_are_exact_and_every_part_has_its_phase(
    profile: Callable[..., Any], algorithm: str
) -> None:
    pytest.importorskip("trl")
    run = profile(PROGRAM, algorithm)
    completions, tokens, steps = map(int, run.out.split()[-3:])
    assert run.counter("completions") == completions
    assert run.counter("tokens_generated") == tokens
    assert run.counter("tokens_learned") == tokens
    assert run.counter("gradient_steps") == steps
    collected = {
        "collect/generate/generate.prefill",
        "collect/generate/generate.decode",
        "collect/reward/reward.brevity",
        "collect/logprob.reference",
    }
    assert collected <= set(run.paths), run.table()
    assert {"learn.forward", "learn.backward", "learn.optimizer"} <= set(run.paths), run.table()
    assert "policy.act" not in run.paths


def test_online_dpo(profile: Callable[..., Any]) -> None:
    pytest.importorskip("trl.experimental.online_dpo")
    run = profile(PROGRAM, "online-dpo")
    completions, tokens, steps = map(int, run.out.split()[-3:])
    assert run.counter("completions") == completions
    assert run.counter("tokens_generated") == run.counter("tokens_learned") == tokens
    assert run.counter("gradient_steps") == steps
    parts = {"generate/generate.decode", "reward/reward.brevity", "logprob.reference"}
    assert parts <= set(run.paths), run.table()
    assert run.calls("learn.forward") == run.calls("logprob.reference"), run.table()
