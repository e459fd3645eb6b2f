"""What environments keep: containers in them, in the program's wrappers and in what these hold."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import RecordEpisodeStatistics

from hotloop import Profiler, get_profiler
from hotloop.hooks.context import HookContext
from hotloop.hooks.telemetry import environments as env_facts
from hotloop.hooks.telemetry.environments import MOST_ATTRIBUTES, Buffers, Growth, sizes_of
from hotloop.measure.core import NATIVE


class Bus:
    def __init__(self) -> None:
        self.listeners: list[Any] = []


class Field(gym.Env[Any, Any]):
    def __init__(self) -> None:
        self.rocks: list[int] = []
        self.bus = Bus()

    def reset(self, **_: Any) -> tuple[int, dict[str, Any]]:
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        return 0, 0.0, False, False, {}


class Scaled(gym.Wrapper[Any, Any, Any, Any]):
    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.seen: deque[float] = deque()


def test_an_environment_and_the_objects_in_it() -> None:
    env = Field()
    env.rocks += [1, 2, 3]
    env.bus.listeners.append(print)
    sizes = sizes_of(env)
    assert sizes["rocks"] == 3
    assert sizes["bus.listeners"] == 1


def test_wrappers_of_the_program_and_not_those_of_libraries() -> None:
    env = RecordEpisodeStatistics(Scaled(Field()))
    env.env.seen.extend([1.0, 2.0])
    sizes = sizes_of(env)
    assert sizes["seen"] == 2
    assert sizes["rocks"] == 0
    assert not {name for name in sizes if "queue" in name}


def test_an_environment_without_attributes_and_one_with_too_many() -> None:
    assert sizes_of(3) == {}
    env = Field()
    for i in range(2 * MOST_ATTRIBUTES):
        setattr(env, f"list_{i}", [])
    assert len(sizes_of(env)) <= MOST_ATTRIBUTES


@pytest.mark.parametrize("wrapped", [False, True])
def test_what_grows_in_resets_is_told_from_what_grows_in_steps(wrapped: bool) -> None:
    inner = Field()
    env: Any = Scaled(inner) if wrapped else inner
    growth = Growth()
    for _ in range(12):
        inner.rocks += [1, 2]  # between an episode's end and the reset's
        inner.bus.listeners += [print, print, print]
        growth.was_reset(None, env)
        if wrapped:
            env.seen.extend([0.0] * 9)
        growth.ended(env)
    grown = growth.notes()["env_growth"]
    assert grown["rocks"]["in_resets"] > 0 >= grown["rocks"]["in_steps"]
    assert grown["bus.listeners"]["in_resets"] > 0 >= grown["bus.listeners"]["in_steps"]
    if wrapped:
        assert grown["seen"]["in_steps"] > 0 >= grown["seen"]["in_resets"]


def test_later_episodes_are_looked_at_ever_more_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    sizes = env_facts.sizes_of
    monkeypatch.setattr(env_facts, "sizes_of", lambda env: looks.append(1) or sizes(env))
    env, growth = Field(), Growth()
    for episode in range(2000):
        env.rocks.append(episode)
        growth.was_reset(None, env)
    assert 16 < len(looks) < 50
    # The growth of each is that of all, however few were looked at.
    assert growth.notes()["env_growth"]["rocks"]["each_episode"] == 1


@pytest.mark.skipif(not NATIVE, reason="without the native core")
def test_the_native_note_passes_resets_over_and_counts_them() -> None:
    context = HookContext(Profiler())
    env, growth, calls = Field(), context.environments.growth, 0
    note = context.environment_was_reset
    watched = growth.was_reset

    def was_reset(*args: Any) -> int | None:
        nonlocal calls
        calls += 1
        return watched(*args)

    context.returns.native.inspect_resets(lambda *_, **__: None, was_reset)
    for episode in range(2000):
        env.rocks.append(episode)
        note(None, env, seed=episode)
    assert 16 < calls < 50
    assert growth.notes()["env_growth"]["rocks"]["each_episode"] == 1


@pytest.mark.skipif(not NATIVE, reason="without the native core")
def test_the_native_note_reports_the_reset_after_an_inspected_end() -> None:
    context = HookContext(Profiler())
    env, growth = Field(), context.environments.growth
    for episode in range(400):
        context.environment_was_reset(None, env)
        if episode > 300:
            env.rocks += [1, 2, 3]
        growth.ended(env)
    grown = growth.notes()["env_growth"]["rocks"]
    assert grown["in_steps"] > 0 == grown["in_resets"]


def test_what_steps_add_is_seen_in_late_episodes_too() -> None:
    env, growth = Field(), Growth()
    for episode in range(400):
        growth.was_reset(None, env)
        if episode > 300:
            env.rocks += [1, 2, 3]
        growth.ended(env)
    grown = growth.notes()["env_growth"]["rocks"]
    assert grown["in_steps"] > 0 == grown["in_resets"]


def test_one_environment_is_watched_and_when_it_is_gone_the_next() -> None:
    first, second, growth = Field(), Field(), Growth()
    for episode in range(30):
        second.rocks.append(episode)
        growth.was_reset(None, first)
        growth.was_reset(None, second)
    assert growth.notes() == {}
    del first
    for episode in range(30):
        second.rocks.append(episode)
        growth.was_reset(None, second)
    assert growth.notes()["env_growth"]["rocks"]["each_episode"] == 1


class Replay:
    def __init__(self, kept: Any) -> None:
        self.kept = kept


FRAME = 84 * 84


@pytest.mark.parametrize(
    ("kept", "whole", "floats"),
    [
        (np.zeros((10, 84, 84), np.float32), 10 * FRAME * 4, 10 * FRAME * 4),
        (np.zeros((10, 84, 84), np.uint8), 10 * FRAME, 0),
        # Rows of two frames each, in a deque that takes a thousand of them.
        (deque([(np.zeros((84, 84)), 1, np.zeros((84, 84)))] * 1, 1000), None, None),
        (deque([(np.zeros((84, 84)), 1, np.ones((84, 84))) for _ in range(2)], 1000),
         1000 * 2 * FRAME * 8, 1000 * 2 * FRAME * 8),
        (deque([{"obs": np.zeros((84, 84), np.uint8)} for _ in range(2)], 1000), 1000 * FRAME, 0),
        (deque([(1, 2.0)] * 3, 1000), None, None),
    ],
)  # fmt: skip
def test_what_a_buffer_needs_when_it_is_full(
    kept: Any, whole: int | None, floats: int | None
) -> None:
    gauges = get_profiler().gauges
    gauges.pop("buffer_bytes", None)
    gauges.pop("buffer_float_frame_bytes", None)
    Buffers(get_profiler()).used(Replay(kept))
    assert gauges.get("buffer_bytes") == whole
    assert gauges.get("buffer_float_frame_bytes") == floats


def test_a_frame_in_two_rows_is_once_in_memory() -> None:
    frames = [np.zeros((84, 84)) for _ in range(3)]
    Buffers(get_profiler()).used(
        Replay(deque([(frames[0], frames[1]), (frames[1], frames[2])], 1000))
    )
    assert get_profiler().gauges["buffer_bytes"] == 1000 * FRAME * 8


class Odd:
    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise RuntimeError("not now")


def test_wrappers_that_go_in_a_circle_and_objects_of_an_odd_kind() -> None:
    first, second = SimpleNamespace(unwrapped=Field()), SimpleNamespace()
    first.env, second.env = second, first
    assert sizes_of(first)["rocks"] == 0
    assert sizes_of(Odd()) == {}
