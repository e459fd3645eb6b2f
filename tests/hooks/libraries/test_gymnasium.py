"""Gymnasium's environments: counted once however they are wrapped, and timed where they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("gymnasium")

Profile = Callable[..., Any]

SINGLE = """
import gymnasium as gym

class Reward(gym.RewardWrapper):
    def reward(self, reward):
        return reward * 2

env = Reward(gym.make("CartPole-v1", max_episode_steps=30, render_mode="rgb_array"))
env.reset(seed=1)
episodes = 0
for _ in range(500):
    {call}
    if terminated or truncated:
        episodes += 1
        env.reset()
print(episodes)
"""


@pytest.mark.parametrize(
    "call",
    [
        "_, _, terminated, truncated, _ = env.step(0)",
        "_, _, terminated, truncated, _ = env.step(action=0)",
    ],
    ids=["positional", "keyword"],
)
def test_a_chain_of_wrappers_is_one_environment(profile: Profile, call: str) -> None:
    run = profile(SINGLE.format(call=call))
    assert run.counter("env_steps") == 500
    assert run.counter("episodes") == int(run.out)
    assert run.calls("env.step") == 500
    assert run.calls("env.reset") == int(run.out)
    assert [path for path in run.paths if path.startswith("env.step/")] == []


def test_steps_of_an_evaluation_are_not_the_trainings(profile: Profile) -> None:
    run = profile(
        """
import gymnasium as gym
from hotloop import profile
env = gym.make("CartPole-v1")
env.reset(seed=1)
for step in range(100):
    *_, terminated, truncated, _ = env.step(0)
    if terminated or truncated: env.reset()
    if step % 50 == 0:
        with profile("evaluate"):
            env.reset(); env.step(0); env.step(1)
"""
    )
    assert run.counter("env_steps") == 100


def test_the_halves_of_an_asynchronous_step_are_parts_of_it(profile: Profile) -> None:
    run = profile(
        """
import gymnasium as gym, numpy as np, time
if __name__ == "__main__":
    envs = gym.vector.AsyncVectorEnv([lambda: gym.make("CartPole-v1")] * 2)
    envs.reset(seed=1)
    ended = 0
    for _ in range(100):
        envs.step_async(np.zeros(2, dtype=int))
        ended += int(np.logical_or(*envs.step_wait()[2:4]).sum())
    print(ended)
    envs.close()
"""
    )
    assert run.counter("env_steps") == 200
    assert run.counter("episodes") == int(run.out)
    assert sum(p["calls"] for p in run.paths.values() if p["name"] == "env.step") == 200


@pytest.mark.real_time
def test_rendering_is_apart(profile: Profile) -> None:
    run = profile(
        """
import gymnasium as gym, time
class Env(gym.Env):
    metadata = {"render_modes": ["rgb_array"]}
    render_mode = "rgb_array"
    observation_space = gym.spaces.Discrete(2)
    action_space = gym.spaces.Discrete(2)
    def reset(self, seed=None, options=None): return 0, {}
    def step(self, action): return 0, 0.0, False, False, {}
    def render(self): time.sleep(0.002)
env = gym.wrappers.TimeLimit(Env(), 1000)
env.reset()
for _ in range(100):
    env.step(0)
    env.render()
env.step(0)
"""
    )
    assert run.calls("env.render") == 100
    assert run.seconds("env.render") >= 0.2


def test_hooks_are_taken_off_again(profile: Profile) -> None:
    source = """
import gymnasium as gym
from gymnasium.envs.classic_control import CartPoleEnv
from hotloop import get_profiler
from hotloop.hooks.context import HookContext
from hotloop.hooks.install import Hooks
before = (CartPoleEnv.step, gym.Wrapper.step, gym.vector.SyncVectorEnv.step, vars(gym.Env).keys())
hooks = Hooks(HookContext(get_profiler()))
hooks.install()
class Own(CartPoleEnv):
    def step(self, action):
        return super().step(action)
own = Own.step
def hooked():
    original = get_profiler().core.original
    return [original(step) is not step or hasattr(step, "__wrapped__")
            for step in (CartPoleEnv.step, gym.Wrapper.step, Own.step)]
on = hooked()
hooks.uninstall()
print(before == (CartPoleEnv.step, gym.Wrapper.step, gym.vector.SyncVectorEnv.step,
                 vars(gym.Env).keys()), on, hooked(), hooks.failures)
"""
    on, off = [True] * 3, [False] * 3
    assert profile(source, hotloop=False).out == f"True {on} {off} {{}}\n"
