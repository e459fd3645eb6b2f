"""Stable-Baselines3 under `hotloop run`: all of its loop is named, and its training is the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from places import check_places

pytest.importorskip("stable_baselines3")

pytestmark = pytest.mark.framework

Profile = Callable[..., Any]

PROGRAMS = Path(__file__).parents[1] / "library_programs"

PROGRAM = """
import sys, hashlib, torch
torch.set_num_threads(1)
from stable_baselines3 import {algorithm}
model = {algorithm}("MlpPolicy", "{env}", seed=3, device="cpu", {settings})
model.learn({steps})
weights = b"".join(p.detach().numpy().tobytes() for p in model.policy.parameters())
print("weights", hashlib.sha256(weights).hexdigest())
print("timesteps", model.num_timesteps, "updates", model._n_updates)
"""

ALGORITHMS = {
    "PPO": ("CartPole-v1", "n_steps=256", 1024, 4 * 4 * 10, 64),
    "A2C": ("CartPole-v1", "", 1500, 300, 5),
    "DQN": ("CartPole-v1", "learning_starts=100", 2000, 475, 32),
    "SAC": ("Pendulum-v1", "learning_starts=100", 400, 300, 256),
}


def program(name: str) -> str:
    env, settings, steps, _, _ = ALGORITHMS[name]
    return PROGRAM.format(algorithm=name, env=env, settings=settings, steps=steps)


@pytest.mark.real_time
@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_whole_loop_is_named_and_counted(profile: Profile, name: str) -> None:
    _, _, _, updates, rows = ALGORITHMS[name]
    run = profile(program(name))
    assert run.code == 0, run.err
    run.check_accounted()
    timesteps = int(run.out.split("timesteps ")[1].split()[0])
    assert run.counter("env_steps") == timesteps
    assert run.counter("gradient_steps") == updates, run.table()
    assert run.report["run"]["batch_size"] == pytest.approx(rows, rel=0.01)
    paths = set(run.paths)
    assert {"collect/env.step", "collect/policy.act", "collect/buffer.add"} <= paths
    assert {"learn/learn.backward", "learn/learn.optimizer", "learn/learn.loss"} <= paths
    assert "Stable-Baselines3" in run.report["libraries"]


@pytest.mark.parametrize("name", ["PPO", "DQN", "SAC"])
def test_the_training_is_the_same_bit_for_bit(profile: Profile, name: str) -> None:
    under = profile(program(name))
    alone = profile(program(name), hotloop=False)
    assert under.out == alone.out
    assert "weights " in alone.out


@pytest.mark.real_time
def test_recurrent_ppo_of_contrib(profile: Profile) -> None:
    pytest.importorskip("sb3_contrib")
    source = (
        PROGRAM.replace("from stable_baselines3 import", "from sb3_contrib import")
        .replace('"MlpPolicy"', '"MlpLstmPolicy"')
        .format(algorithm="RecurrentPPO", env="CartPole-v1", settings="n_steps=128", steps=256)
    )
    run = profile(source)
    assert run.code == 0, run.err
    run.check_accounted()
    assert run.counter("env_steps") == 256


#: The places that are kept busy, and for how many seconds a call.
STAYS = {
    "env.step": 0.008,
    "policy.act": 0.012,
    "learn.forward": 0.045,
    "buffer.add": 0.007,
    "learn.optimizer": 0.050,
    "log": 0.8,
}


@pytest.mark.real_time
def test_added_time_shows_up_in_its_own_phase(profile: Profile) -> None:
    check_places(lambda seconds: profile(PROGRAMS / "sb3_places.py", *seconds), STAYS)


@pytest.mark.real_time
def test_time_added_to_the_loss_and_to_the_replay_buffer(profile: Profile) -> None:
    ran = []

    def run(seconds: list[str]) -> Any:
        ran.append(profile(PROGRAMS / "sb3_learning_places.py", *seconds))
        return ran[-1]

    check_places(run, {"learn.loss": 0.006, "buffer.sample": 0.006})
    how = {p["name"]: p["how"] for p in ran[-1].phases}
    assert how["learn.loss"] == "inferred"
    assert how["buffer.sample"] == "named"
