"""The same training, bit for bit, with everything switched on: every library that is deterministic.

The tests of each library in `tests/hooks` compare a run as `hotloop run` makes it by default with
the plain program; here all that can be switched on is on. The short form has the smallest program.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

HOOKS = Path(__file__).parents[1] / "hooks"

#: All that costs something, or comes near the training.
EVERYTHING = ("--trace", "--scalars", "--gpu", "full", "--summary-every", "1s")
EXACT = ("--trace", "--functions", "exact")

#: Put at a program's end: all weights of torch that are still there, whatever holds them.
DIGEST = """

import gc as _gc, hashlib as _hashlib, sys as _sys
if "torch" in _sys.modules:
    _torch = _sys.modules["torch"]
    _weights = sorted(
        each.detach().cpu().numpy().tobytes()
        for each in _gc.get_objects() if type(each) is _torch.nn.Parameter
    )
    if _weights:  # a program that keeps none prints their sum itself
        print("digest", len(_weights), _hashlib.sha256(b"".join(_weights)).hexdigest())
"""

SB3 = """
import torch
torch.set_num_threads(1)
from {package} import {algorithm}
model = {algorithm}("{policy}", {env}, seed=3, device="cpu", {settings})
model.learn({steps})
"""
MASKABLE = """
import gymnasium as gym, numpy as np, torch
torch.set_num_threads(1)
from sb3_contrib import MaskablePPO
from sb3_contrib.common.wrappers import ActionMasker
def mask(env):
    return np.array([True, env.unwrapped.state[2] > -0.1])
env = ActionMasker(gym.make("CartPole-v1"), mask)
model = MaskablePPO("MlpPolicy", env, n_steps=128, seed=3, device="cpu")
model.learn(512)
"""
WORKERS = """
import torch
torch.set_num_threads(1)
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv
if __name__ == "__main__":
    env = make_vec_env("CartPole-v1", 2, seed=3, vec_env_cls=SubprocVecEnv)
    model = PPO("MlpPolicy", env, n_steps=64, seed=3, device="cpu")
    model.learn(512)
    env.close()
"""


@dataclass(frozen=True)
class Case:
    """A program, and what it needs."""

    needs: str
    program: Path | str
    arguments: tuple[str, ...] = ()
    options: tuple[str, ...] = EVERYTHING
    backend: str = ""
    #: Lines that hold times, counted from the end.
    times: int = 0


def sb3(
    name: str, settings: str = "", env: str = '"CartPole-v1"', steps: int = 600, **more: str
) -> str:
    package = more.get("package", "stable_baselines3")
    policy = more.get("policy", "MlpPolicy")
    return SB3.format(
        package=package, algorithm=name, policy=policy, env=env, settings=settings, steps=steps
    )


PENDULUM = '"Pendulum-v1"'
CASES = {
    "NumPy": Case("numpy", HOOKS / "own_programs/numpy_gradients.py", ("40",)),
    "SB3 PPO": Case("stable_baselines3", sb3("PPO", "n_steps=256", steps=1024)),
    "SB3 PPO, exact functions": Case("stable_baselines3", sb3("PPO", "n_steps=256"), options=EXACT),
    "SB3 PPO, subprocesses": Case("stable_baselines3", WORKERS),
    "SB3 A2C": Case("stable_baselines3", sb3("A2C")),
    "SB3 DQN": Case("stable_baselines3", sb3("DQN", "learning_starts=100", steps=1500)),
    "SB3 SAC": Case("stable_baselines3", sb3("SAC", "learning_starts=100", PENDULUM, 300)),
    "SB3 TD3": Case("stable_baselines3", sb3("TD3", "learning_starts=100", PENDULUM, 300)),
    "contrib RecurrentPPO": Case(
        "sb3_contrib",
        sb3(
            "RecurrentPPO", "n_steps=128", steps=256, package="sb3_contrib", policy="MlpLstmPolicy"
        ),
    ),
    "contrib MaskablePPO": Case("sb3_contrib", MASKABLE),
    "contrib QRDQN": Case(
        "sb3_contrib", sb3("QRDQN", "learning_starts=100", package="sb3_contrib")
    ),
    "TorchRL PPO": Case("torchrl", HOOKS / "library_programs/torchrl_ppo.py"),
    "TorchRL DQN": Case("torchrl", HOOKS / "library_programs/torchrl_dqn.py"),
    "Tianshou DQN": Case(
        "tianshou", HOOKS / "library_programs/tianshou_dqn.py", ("logs",), times=0
    ),
    "Tianshou PPO": Case("tianshou", HOOKS / "library_programs/tianshou_ppo.py"),
    "Keras DQN on TensorFlow": Case(
        "tensorflow", HOOKS / "own_programs/keras_dqn.py", ("fit", "80"), backend="tensorflow"
    ),
    "Keras DQN on torch": Case(
        "torch", HOOKS / "own_programs/keras_dqn.py", ("batch", "80"), backend="torch"
    ),
    "Keras DQN on JAX": Case(
        "jax", HOOKS / "own_programs/keras_dqn.py", ("batch", "80"), backend="jax"
    ),
    "JAX DQN": Case("jax", HOOKS / "own_programs/jax_dqn.py", ("800",)),
    "JAX PPO": Case("jax", HOOKS / "own_programs/jax_ppo.py"),
    "plain DQN": Case("torch", HOOKS / "programs/plain_dqn.py", times=1),
    "plain PPO (CleanRL's way)": Case("torch", HOOKS / "programs/plain_ppo.py", times=1),
    "plain PPO with a rollout class": Case("torch", HOOKS / "own_programs/rollout_ppo.py", ("4",)),
    "the tutorial's DQN": Case("torch", HOOKS / "own_programs/tutorial_dqn.py", ("600",)),
}
#: Libraries that draw different numbers each time, with hotloop or without, are not here: RLlib and
#: Ray's actors run at their own pace.
SHORT = ("NumPy",)


def run(case: Case, folder: Path, options: tuple[str, ...] | None) -> list[str]:
    """What the program prints, alone or under hotloop; times left out."""
    folder.mkdir()
    source = case.program.read_text() if isinstance(case.program, Path) else case.program
    (folder / "train.py").write_text(source + DIGEST)
    command = [sys.executable]
    if options is not None:
        command += ["-m", "hotloop", "run", "-q", "-o", "cap", *options]
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
    }
    if case.backend:
        environment["KERAS_BACKEND"] = case.backend
    done = subprocess.run(
        [*command, "train.py", *case.arguments],
        cwd=folder, capture_output=True, text=True, timeout=600, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith("digest")]
    digests = [line for line in lines if line.startswith("digest")]
    # Progress bars, tables and log lines hold times as well: the last line is the result.
    return [*told[: len(told) - case.times][-1:], *digests]


@pytest.mark.parametrize("name", CASES)
def test_the_training_is_the_same(name: str, tmp_path: Path, full: bool, say) -> None:
    case = CASES[name]
    if not full and name not in SHORT:
        pytest.skip("in the full form; tests/hooks has the library with default options")
    pytest.importorskip(case.needs)
    alone = run(case, tmp_path / "alone", None)
    under = run(case, tmp_path / "under", case.options)
    assert alone
    assert under == alone
    say(f"same training, {name}: {alone[-1][:60]} with {' '.join(case.options)} and without")
