"""What the result of a step says of it."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from hotloop.hooks.results import Outcome, outcome_of

Answer = namedtuple("Answer", "observations rewards dones")


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        ((0, 1.0, True), Outcome(1, 1)),
        ((0, 1.0, False, {}), Outcome(1, 0)),
        ((0, 1.0, False, True, {}), Outcome(1, 1)),
        ((np.zeros(4), np.float32(1), np.bool_(True), {}), Outcome(1, 1)),
        ((np.zeros((3, 4)), np.zeros(3), np.array([True, False, True]), [{}]), Outcome(3, 2)),
        (
            (
                np.zeros((2, 4)),
                np.zeros(2),
                np.array([True, False]),
                np.array([True, True]),
                {},
            ),
            Outcome(2, 2),
        ),
        (([0, 0], [1.0, 2.0], [0.0, 1.0]), Outcome(2, 1)),
        (Answer(np.zeros((5, 2)), np.zeros(5), np.zeros(5, bool)), Outcome(5, 0)),
        ({"obs": 1, "reward": 0.5, "done": True}, Outcome(1, 1)),
        (({"a": 0}, {"a": 1.0, "b": 1.0}, {"a": True, "b": True}, {"a": {}}), Outcome(1, 1)),
        ((np.zeros(2), -1.0), Outcome(1, None)),
        # Rewards of three agents in one environment.
        ((np.zeros(4), np.zeros(3), False, {}), Outcome(1, 0)),
        (None, None),
        (3.0, None),
        (("text", "more"), None),
    ],
)
def test_outcome_of_a_step(result: Any, outcome: Outcome | None) -> None:
    assert outcome_of(result) == outcome


def test_outcome_of_torch_tensors() -> None:
    torch = pytest.importorskip("torch")
    done = torch.tensor([True, False, True])
    assert outcome_of((torch.zeros(3, 2), torch.zeros(3), done, {})) == Outcome(3, 2)
