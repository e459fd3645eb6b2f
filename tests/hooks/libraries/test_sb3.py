"""Stable-Baselines3 and sb3-contrib beyond the usual: other algorithms, buffers, callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("stable_baselines3")

pytestmark = pytest.mark.framework

Profile = Callable[..., Any]

BEGIN = """
import torch
torch.set_num_threads(1)
"""

#: name -> (program, gradient steps, rows)
PROGRAMS = {
    "TD3": (
        """
from stable_baselines3 import TD3
model = TD3("MlpPolicy", "Pendulum-v1", learning_starts=50, batch_size=64, seed=1, device="cpu")
model.learn(250)
""",
        200,
        200 * 64,
    ),
    "HER": (
        """
from stable_baselines3 import DQN, HerReplayBuffer
from stable_baselines3.common.envs import BitFlippingEnv
model = DQN("MultiInputPolicy", BitFlippingEnv(n_bits=6, continuous=False), seed=1, device="cpu",
            replay_buffer_class=HerReplayBuffer, learning_starts=100)
model.learn(1200)
""",
        275,
        275 * 32,
    ),
    "MaskablePPO": (
        """
from sb3_contrib import MaskablePPO
from sb3_contrib.common.envs import InvalidActionEnvDiscrete
model = MaskablePPO("MlpPolicy", InvalidActionEnvDiscrete(dim=10, n_invalid_actions=5),
                    n_steps=256, seed=1, device="cpu")
model.learn(768)
""",
        3 * 4 * 10,
        3 * 256 * 10,
    ),
    "RecurrentPPO": (
        """
from sb3_contrib import RecurrentPPO
model = RecurrentPPO("MlpLstmPolicy", "CartPole-v1", n_steps=64, batch_size=32, n_epochs=4,
                     seed=1, device="cpu")
model.learn(192)
""",
        3 * 2 * 4,
        3 * 64 * 4,
    ),
    "VecNormalize, frames, three environments": (
        """
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecFrameStack, VecNormalize
env = VecFrameStack(VecNormalize(make_vec_env("CartPole-v1", n_envs=3)), 2)
model = PPO("MlpPolicy", env, n_steps=128, batch_size=96, n_epochs=5, seed=1, device="cpu")
model.learn(768)
""",
        2 * 4 * 5,
        2 * 3 * 128 * 5,
    ),
}


@pytest.mark.real_time
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_algorithm_is_named_and_counted(profile: Profile, name: str) -> None:
    source, updates, rows = PROGRAMS[name]
    if "contrib" in source:
        pytest.importorskip("sb3_contrib")
    episodes = """
print(model.num_timesteps, len(model.ep_info_buffer))
"""
    run = profile(BEGIN + source + episodes)
    run.check_accounted()
    timesteps, finished = map(int, run.out.split())
    assert run.counter("env_steps") == timesteps
    assert run.counter("gradient_steps") == updates
    assert run.counter("samples") == rows
    if finished < 100:  # it remembers no more
        assert run.counter("episodes") == finished
    for title, facts in run.report["libraries"].items():
        assert not facts["missing"], title


def test_evaluating_and_saving_are_not_training(profile: Profile) -> None:
    run = profile(
        BEGIN
        + """
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import CheckpointCallback, EvalCallback
import gymnasium as gym
model = DQN("MlpPolicy", "CartPole-v1", learning_starts=100, seed=1, device="cpu")
model.learn(1000, callback=[
    EvalCallback(gym.make("CartPole-v1"), eval_freq=400, n_eval_episodes=3, verbose=0),
    CheckpointCallback(500, "checkpoints", save_replay_buffer=True),
])
"""
    )
    names = {path.rpartition("/")[2] for path in run.paths}
    assert {"callback", "evaluate", "checkpoint"} <= names, run.table()
    assert run.counter("env_steps") == 1000
    assert run.calls("evaluate") == 2
    # The evaluation's steps are in the evaluation.
    assert sum(p["calls"] for p in run.paths.values() if p["path"].endswith("evaluate/env.step"))


def test_a_place_that_is_gone_is_told_and_nothing_breaks(profile: Profile) -> None:
    source = """
from stable_baselines3 import A2C
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.logger import Logger
from hotloop import get_profiler
from hotloop.hooks.context import HookContext
from hotloop.hooks.install import Hooks

advantage = RolloutBuffer.compute_returns_and_advantage
del RolloutBuffer.compute_returns_and_advantage
hooks = Hooks(HookContext(get_profiler()))
hooks.install()
print(hooks.libraries["Stable-Baselines3"]["missing"], hooks.failures)
RolloutBuffer.compute_returns_and_advantage = advantage
get_profiler().enable()
A2C("MlpPolicy", "CartPole-v1", seed=1, device="cpu").learn(100)
hooks.uninstall()
print(type(A2C.train).__name__, type(Logger.dump).__name__)
"""
    missing, left = profile(source, hotloop=False).out.splitlines()
    gone = "stable_baselines3.common.buffers.RolloutBuffer.compute_returns_and_advantage"
    assert missing == f"['{gone}'] {{}}"
    assert left == "function function"
