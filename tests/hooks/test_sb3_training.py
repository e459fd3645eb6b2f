"""Stable-Baselines3 under `hotloop run`: all of its loop is named, and its training is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("stable_baselines3")

Profile = Callable[..., Any]

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


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_whole_loop_is_named_and_counted(profile: Profile, name: str) -> None:
    _, _, _, updates, rows = ALGORITHMS[name]
    run = profile(program(name))
    assert run.code == 0, run.err
    assert run.coverage >= 0.97, run.table()
    assert run.unexplained <= 0.08, run.table()
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


def test_recurrent_ppo_of_contrib(profile: Profile) -> None:
    pytest.importorskip("sb3_contrib")
    source = (
        PROGRAM.replace("from stable_baselines3 import", "from sb3_contrib import")
        .replace('"MlpPolicy"', '"MlpLstmPolicy"')
        .format(algorithm="RecurrentPPO", env="CartPole-v1", settings="n_steps=128", steps=256)
    )
    run = profile(source)
    assert run.code == 0, run.err
    assert run.coverage >= 0.97, run.table()
    assert run.unexplained <= 0.08, run.table()
    assert run.counter("env_steps") == 256


SLOWED = """
import time, torch
torch.set_num_threads(1)
import gymnasium as gym
from stable_baselines3 import PPO
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.logger import KVWriter, Logger
from stable_baselines3.common.policies import ActorCriticPolicy

WHERE = {where!r}
spent = 0.0

def slow(where, seconds):
    global spent
    if where == WHERE:
        begin = time.perf_counter()
        while time.perf_counter() - begin < seconds:
            pass
        spent += time.perf_counter() - begin

class Env(gym.Wrapper):
    def step(self, action):
        slow("env.step", 0.002)
        return self.env.step(action)

class Policy(ActorCriticPolicy):
    def forward(self, *args, **kwargs):
        slow("policy.act", 0.002)
        return super().forward(*args, **kwargs)

    def evaluate_actions(self, *args, **kwargs):
        slow("learn.forward", 0.01)
        return super().evaluate_actions(*args, **kwargs)

class Buffer(RolloutBuffer):
    def add(self, *args, **kwargs):
        slow("buffer.add", 0.002)
        super().add(*args, **kwargs)

class Adam(torch.optim.Adam):
    def step(self, *args, **kwargs):
        slow("learn.optimizer", 0.01)
        return super().step(*args, **kwargs)

class Writer(KVWriter):
    def write(self, *args, **kwargs):
        slow("log", 0.4)

    def close(self):
        pass

model = PPO(Policy, Env(gym.make("CartPole-v1")), n_steps=256, seed=3, device="cpu",
            policy_kwargs={{"optimizer_class": Adam}}, rollout_buffer_class=Buffer)
model.set_logger(Logger(None, [Writer()]))
model.learn(512)
print("spent", spent)
"""

PHASES = ("env.step", "policy.act", "learn.forward", "buffer.add", "learn.optimizer", "log")


@pytest.mark.parametrize("phase", PHASES)
def test_added_time_shows_up_in_its_own_phase(profile: Profile, phase: str) -> None:
    run = profile(SLOWED.format(where=phase))
    assert run.code == 0, run.err
    spent = float(run.out.split("spent ")[1])
    assert spent > 0.3
    # What these phases take anyway is a small part of what was added.
    assert spent * 0.95 <= run.seconds(phase) <= spent * 1.5, run.table()
    for other in PHASES:
        assert other == phase or run.seconds(other) < spent * 0.5, run.table()
