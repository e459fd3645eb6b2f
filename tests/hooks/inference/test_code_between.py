"""What the names in a piece of code show."""

from __future__ import annotations

from typing import Any

import pytest

from hotloop.hooks.inference.code_between import EVIDENCE, CodeRange, names_between, silent_loops


def shows(source: str) -> list[str]:
    code: Any = compile(source, "train.py", "exec")
    names = names_between([CodeRange(code, -1, len(code.co_code))])
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


@pytest.mark.parametrize(
    ("code", "moves"),
    [
        ("for t, p in zip(target.parameters(), net.parameters()):\n    t.data.copy_(p.data)", True),
        ("target_net.load_state_dict(net.state_dict())", True),
        ("target_w = tau * w + (1 - tau) * target_w", True),
        ("update_exponential_moving_average(self.q_target, self.qf, self.alpha)", True),
        ("moved = target - position", False),
        ("if target.moving: goal = target.position", False),
        ("if approx_kl > args.target_kl: stop()\nwriter.add_scalar('kl', kl.data)", False),
    ],
)
def test_a_target_network_is_moved_by_what_sets_its_weights(code: str, moves: bool) -> None:
    assert ("learn.target" in shows(code)) == moves


def test_loops_in_which_nothing_shows_the_phase() -> None:
    def played(env: Any, stored: Any, k: int = 0) -> None:
        observation, reward, done = env.step(1)
        for k in range(6000):
            env.charge += k
        for each in range(2):
            stored.append((observation, reward, done, each))

    whole = CodeRange(played.__code__, 0, len(played.__code__.co_code))
    first = played.__code__.co_firstlineno
    lines = {int(line.rpartition(":")[2]) - first for line in silent_loops([whole], "buffer.add")}
    assert lines == {2, 3}
    assert silent_loops([whole], "learn.loss") == []
