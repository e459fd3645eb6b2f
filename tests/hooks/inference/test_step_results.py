"""What the result of a step says of it."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from hotloop.hooks.inference.returns import recorded_in
from hotloop.hooks.inference.step_results import StepResult, ends_of, rewards_of, step_result_of

Answer = namedtuple("Answer", "observations rewards dones")


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        ((0, 1.0, True), StepResult(1, 1)),
        ((0, 1.0, False, {}), StepResult(1, 0)),
        ((0, 1.0, False, True, {}), StepResult(1, 1)),
        ((np.zeros(4), np.float32(1), np.bool_(True), {}), StepResult(1, 1)),
        ((np.zeros((3, 4)), np.zeros(3), np.array([True, False, True]), [{}]), StepResult(3, 2)),
        (
            (
                np.zeros((2, 4)),
                np.zeros(2),
                np.array([True, False]),
                np.array([True, True]),
                {},
            ),
            StepResult(2, 2),
        ),
        (([0, 0], [1.0, 2.0], [0.0, 1.0]), StepResult(2, 1)),
        (Answer(np.zeros((5, 2)), np.zeros(5), np.zeros(5, bool)), StepResult(5, 0)),
        ({"obs": 1, "reward": 0.5, "done": True}, StepResult(1, 1)),
        (({"a": 0}, {"a": 1.0, "b": 1.0}, {"a": True, "b": True}, {"a": {}}), StepResult(1, 1)),
        ((np.zeros(2), -1.0), StepResult(1, None)),
        # Environments without episodes.
        ((np.zeros((3, 2)), np.zeros(3), None, None, {}), StepResult(3, None)),
        ((np.zeros(2), 1.0, None, {}), StepResult(1, None)),
        ((np.zeros(2), 1.0, None, "text"), None),
        # Rewards of three agents in one environment.
        ((np.zeros(4), np.zeros(3), False, {}), StepResult(1, 0)),
        (None, None),
        (3.0, None),
        (("text", "more"), None),
    ],
)
def test_outcome_of_a_step(result: Any, outcome: StepResult | None) -> None:
    found = step_result_of(result)
    assert (found and StepResult(found.envs, found.ended)) == outcome


@pytest.mark.parametrize(
    ("reward", "rewards"),
    [
        (1, [1.0]),
        (np.float32(0.5), [0.5]),
        (np.array(2.5), [2.5]),
        (np.array([1, 2]), [1.0, 2.0]),
        ([1.0, 2], [1.0, 2.0]),
        ({"one": 1.0, "other": np.float32(2)}, [3.0]),
        (None, None),
        ("text", None),
        (object(), None),
    ],
)
def test_rewards_of_a_step(reward: Any, rewards: list[float] | None) -> None:
    assert rewards_of(reward) == rewards


def test_outcome_of_torch_tensors() -> None:
    torch = pytest.importorskip("torch")
    done = torch.tensor([True, False, True])
    ends = [True, False, True]
    found = step_result_of((torch.zeros(3, 2), torch.ones(3), done, {}))
    assert found == StepResult(3, 2, [1.0] * 3, ends)


def test_values_on_a_device_are_never_read() -> None:
    torch = pytest.importorskip("torch")
    far = torch.zeros((), device="meta")  # reading its value raises
    assert rewards_of({"a": far, "b": 1.0}) is None
    assert rewards_of([far]) is None
    assert ends_of([{"a": far}], 1) is None
    assert ends_of([[far, far]], 2) is None
    assert recorded_in({"episode": {"r": far, "l": far}}) == []
    near = torch.ones(())
    assert rewards_of({"a": near, "b": 1.0}) == [2.0]
    assert ends_of([{"a": near, "b": True}], 1) == [True]
