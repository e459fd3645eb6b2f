"""The policy, and the model that it is compared with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hotloop.hooks.inference.events import REFERENCE, SCORE
from hotloop.hooks.libraries.language_models import LanguageModels

torch = pytest.importorskip("torch")
PROGRAM = Path(__file__).parents[1] / "library_programs" / "transformers_loop.py"
Profile = Callable[..., Any]


class Judge(torch.nn.Linear):  # type: ignore[misc,name-defined]
    """A model of another class."""


def test_the_one_that_writes_and_its_frozen_twin() -> None:
    models = LanguageModels()
    policy, twin = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    judge, small = Judge(3, 2), torch.nn.Linear(2, 2)
    with torch.no_grad():
        assert models.event(twin) is None  # nothing is known yet
        models.wrote(policy)
        found = [models.event(each) for each in (policy, twin, judge, small)]
    assert found == [SCORE, REFERENCE, None, None]
    assert models.event(policy) is None  # it learns


def test_a_model_that_learns_without_writing_is_not_judged_by_itself() -> None:
    models = LanguageModels()
    policy, twin = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2).requires_grad_(False)
    assert models.event(policy) is None
    assert models.event(twin) == REFERENCE  # it cannot learn, with gradients switched on or not
    with torch.no_grad():
        assert models.event(policy) is None  # a validation


@pytest.mark.framework
def test_log_probabilities_of_a_plain_loop(profile: Profile) -> None:
    pytest.importorskip("transformers")
    run = profile(PROGRAM)
    rounds, updates, completions, tokens = map(int, run.out.split())
    assert run.calls("logprob.policy") == run.calls("logprob.reference") == rounds
    assert run.calls("generate") == rounds
    assert run.counter("gradient_steps") == updates
    assert run.counter("completions") == completions
    assert run.counter("tokens_generated") == tokens
    assert run.calls("inference") == 0
    # Not the first: the loop begins with `generate`.
    assert run.calls("learn.forward") in (updates - 1, updates)
