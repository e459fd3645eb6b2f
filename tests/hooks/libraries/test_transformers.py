"""Tokens of a `generate` call, counted without waiting for a device."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hotloop.hooks.context import HookContext
from hotloop.hooks.libraries.language_models import LanguageModels
from hotloop.hooks.libraries.transformers import Generations, TokenSums
from hotloop.measure.profiler import Profiler

torch = pytest.importorskip("torch")

END, PADDING = 1, 0


class Model:
    config = SimpleNamespace()
    generation_config = SimpleNamespace(eos_token_id=[END, 9])


MODEL = Model()


def counted(device: str) -> tuple[dict[str, float], TokenSums]:
    profiler, sums = Profiler(), TokenSums()
    profiler.enable()
    prompts = torch.tensor([[PADDING, 5], [5, 5]], device=device)
    mask = torch.tensor([[0, 1], [1, 1]], device=device)
    completions = torch.tensor([[7, END, PADDING], [7, 7, 9]], device=device)
    sequences = torch.cat([prompts, completions], dim=1)
    note: Any = Generations(HookContext(profiler), sums, LanguageModels()).after_generate
    note(sequences, MODEL, prompts, attention_mask=mask)
    profiler.disable()
    return dict(profiler.close_window().counters), sums


def test_tokens_in_host_memory_are_exact() -> None:
    counters, sums = counted("cpu")
    assert (counters["prompt_tokens"], counters["tokens_generated"]) == (3, 5)
    assert (counters["completions"], counters["decode_slots"]) == (2, 6)
    assert sums.remarks() == []


def test_tokens_on_a_device_are_counted_by_shape() -> None:
    # The values of a meta tensor cannot be read: any attempt raises.
    counters, sums = counted("meta")
    assert (counters["prompt_tokens"], counters["tokens_generated"]) == (4, 6)
    assert (counters["completions"], counters["decode_slots"]) == (2, 6)
    assert "include padding" in sums.remarks()[0]
