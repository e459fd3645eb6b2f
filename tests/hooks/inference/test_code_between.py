"""What the names in a piece of code show."""

from __future__ import annotations

from typing import Any

import pytest

from hotloop.hooks.inference.code_between import EVIDENCE, Stretch, names_between


def shows(source: str) -> list[str]:
    code: Any = compile(source, "train.py", "exec")
    names = names_between([Stretch(code, -1, len(code.co_code))])
    return [phase for phase, is_shown in EVIDENCE.items() if is_shown(names)]


@pytest.mark.parametrize(
    "stores",
    [
        "rewards[step], dones[step] = reward, done",
        "memory.append((observation, action, reward))",
        "observations[step] = next_observation\nrewards[step] = (\n    reward\n)",
    ],
)
def test_a_transition_that_is_stored(stores: str) -> None:
    assert "buffer.add" in shows(stores)


def test_something_else_that_is_stored_beside_a_transition() -> None:
    """A rollout that keeps nothing: observations are normalized, and a summary is filled."""
    code = """
reward = raw_reward - offset
observation = self.normalize(observation)
total += reward
if done:
    for key in keys:
        summary[key] = info[key]
"""
    assert "buffer.add" not in shows(code)
