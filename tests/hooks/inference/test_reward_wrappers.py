"""Which wrappers change rewards, and what lies below them."""

from __future__ import annotations

from typing import Any

import pytest

from hotloop.hooks.inference.reward_wrappers import below_changes, changes_rewards


class Env:
    def step(self, action: Any) -> Any:
        return 0, 1.0, False, False, {}


class Wrapper:
    def __init__(self, env: Any) -> None:
        self.env = env


class Counting(Wrapper):
    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        info["reward"] = reward
        return obs, reward, terminated, truncated, info


class Plain(Wrapper):
    def step(self, action: Any) -> Any:
        return self.env.step(action)


class Scaled(Wrapper):
    def step(self, action: Any) -> Any:
        obs, reward, *rest = self.env.step(action)
        return (obs, reward * 0.1, *rest)


class Added(Wrapper):
    # The signature has two lines, and there is a function inside.
    def step(
        self, action: Any
    ) -> Any:  # fmt: skip
        def unused() -> Any:
            return 0, 0, 0

        obs, reward, done, info = self.env.step(action)
        reward += 1.0

        return obs, reward, done, info


class Many:
    num_envs = 2

    def __init__(self, *envs: Any) -> None:
        self.envs = list(envs)

    def step(self, actions: Any) -> Any:
        return [each.step(0) for each in self.envs]


class Elsewhere:
    num_envs = 2

    def step_wait(self) -> Any:
        return 0, 0, 0, 0


@pytest.mark.parametrize(
    ("cls", "changes"), [(Counting, False), (Plain, False), (Scaled, True), (Added, True)]
)
def test_what_the_code_of_a_step_says(cls: type, changes: bool) -> None:
    assert changes_rewards(cls) is changes


class Odd(type):
    """Compares and answers as it likes, and cannot be hashed."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(cls, other: object) -> bool:
        raise KeyError(other)

    def __getattr__(cls, name: str) -> Any:
        raise KeyError(name)


def test_a_metaclass_is_not_asked() -> None:
    odd = Odd("Halved", (Scaled,), {})
    assert changes_rewards(odd)
    assert changes_rewards(Odd("Bare", (), {})) is False


def test_rewards_are_read_below_the_innermost_change() -> None:
    inner = Counting(Env())
    found = below_changes(Plain(Scaled(Added(inner))))
    assert found is not None
    assert found.envs == [inner]
    assert not found.recorded
    assert below_changes(Counting(Plain(Env()))) is None


def test_each_environment_of_a_vector_has_its_own() -> None:
    first, second = Counting(Env()), Env()
    found = below_changes(Many(Scaled(first), second))
    assert found is not None
    assert found.envs == [first, second]


def test_environments_of_other_processes_are_not_seen() -> None:
    found = below_changes(Scaled(Elsewhere()))
    assert found is not None
    assert found.envs == []


def test_a_recorder_says_what_the_return_is() -> None:
    pytest.importorskip("gymnasium")
    import gymnasium as gym
    from gymnasium.wrappers import NormalizeReward, RecordEpisodeStatistics

    below = below_changes(NormalizeReward(RecordEpisodeStatistics(gym.make("CartPole-v1"))))
    above = below_changes(RecordEpisodeStatistics(NormalizeReward(gym.make("CartPole-v1"))))
    assert below is not None
    assert above is not None
    assert (below.recorded, above.recorded) == (True, True)


def test_wrappers_of_the_libraries() -> None:
    wrappers: Any = pytest.importorskip("gymnasium.wrappers")
    for name in ("TimeLimit", "RecordEpisodeStatistics", "OrderEnforcing", "NormalizeObservation"):
        assert not changes_rewards(getattr(wrappers, name))
    for name in ("NormalizeReward", "TransformReward", "ClipReward"):
        assert changes_rewards(getattr(wrappers, name))
