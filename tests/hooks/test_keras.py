"""Keras 3 on TensorFlow and on torch, and TensorFlow without Keras's own loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hotloop.hooks.keras import Rows

pytest.importorskip("keras")
pytest.importorskip("gymnasium")

PROGRAMS = Path(__file__).parent / "own_programs"
DQN = PROGRAMS / "keras_dqn.py"


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")


@pytest.mark.parametrize(
    ("rows", "size", "steps", "taken"),
    [
        (64, 32, 1, [[32], [32], [32]]),
        (70, 32, 1, [[32], [32], [6], [32]]),
        (70, 32, 2, [[32, 32], [6], [32, 32]]),
        (10, 32, 1, [[10], [10]]),
        (0, 32, 1, [[0], [0]]),  # a generator: nobody knows
    ],
)
def test_rows_of_the_batches_of_a_fit(
    rows: int, size: int, steps: int, taken: list[list[int]]
) -> None:
    batches = Rows(rows, size)
    assert [batches.take(steps) for _ in taken] == taken


@pytest.mark.parametrize("backend", ["tensorflow", "torch"])
@pytest.mark.parametrize("mode", ["batch", "fit"])
def test_dqn(profile: Any, monkeypatch: pytest.MonkeyPatch, backend: str, mode: str) -> None:
    pytest.importorskip(backend)
    monkeypatch.setenv("KERAS_BACKEND", backend)
    run = profile(DQN, mode, "80")
    # The last word is a digest of the weights: the same training, bit for bit.
    assert run.out == profile(DQN, mode, "80", hotloop=False).out
    steps, episodes, updates = map(int, run.out.split()[:3])
    assert run.counter("env_steps") == steps
    assert run.counter("episodes") == episodes
    assert run.counter("gradient_steps") == updates
    assert run.counter("samples") == updates * 32
    assert run.coverage >= 0.97, run.table()
    assert run.unexplained <= 0.08, run.table()
    assert run.paths["learn/learn.fit/learn.step"]["calls"] == updates
    assert run.calls("learn.forward") >= 2 * updates
    assert not any(facts["missing"] for facts in run.report["libraries"].values())
    if backend == "torch":
        inside = "learn/learn.fit/learn.step/"
        parts = {"learn.forward", "learn.loss", "learn.backward", "learn.optimizer"}
        assert {inside + part for part in parts} <= set(run.paths)


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_gradient_tape(profile: Any, tmp_path: Path, mode: str) -> None:
    pytest.importorskip("tensorflow")
    program = PROGRAMS / "tf_actor_critic.py"
    under, alone = tmp_path / "under.npy", tmp_path / "alone.npy"
    run = profile(program, mode, "12", str(under))
    profile(program, mode, "12", str(alone), hotloop=False)
    assert under.read_bytes() == alone.read_bytes()
    steps, updates, rows = map(int, run.out.split()[:3])
    assert run.counter("env_steps") == steps
    assert run.counter("gradient_steps") == updates
    assert run.counter("samples") == rows
    assert run.coverage >= 0.97, run.table()
    assert run.unexplained <= 0.08, run.table()
    assert run.calls("policy.act") > 0
    if mode == "eager":
        # Its loop over tensors is the program's own function, called and rewritten as it is.
        assert run.calls("learn.backward") == run.calls("learn.optimizer") == updates
    else:
        assert run.calls("learn.step") == updates - 1  # the first call is compiling
        assert run.counter("traces") >= 2


def test_a_tape_around_a_whole_episode_is_no_loss(profile: Any) -> None:
    pytest.importorskip("tensorflow")
    run = profile(PROGRAMS / "tf_episode_tape.py", "12")
    steps, updates = map(int, run.out.split()[:2])
    assert run.counter("env_steps") == steps
    assert run.counter("gradient_steps") == updates
    assert run.calls("learn.backward") == updates
    # Where tapes of this kind begin is known from the first one on.
    assert run.paths["env.step"]["calls"] > 0.8 * steps, run.table()
    assert run.paths["policy.act"]["calls"] > 0.8 * steps, run.table()
    assert run.coverage >= 0.97, run.table()
    assert run.unexplained <= 0.08, run.table()


TRANSFERS = """
import tensorflow as tf
x = tf.ones((4, 8))
for _ in range(10):
    x.numpy()
    float(x[0, 0])
"""


def test_reading_a_tensor_is_counted_with_its_bytes(profile: Any) -> None:
    pytest.importorskip("tensorflow")
    run = profile(TRANSFERS)
    assert run.counter("transfers") == 20
    assert run.counter("transfer_bytes") == 10 * 128 + 10 * 8
    assert run.calls("transfer") == 20


RETRACED = """
import tensorflow as tf

@tf.function
def double(x):
    return x * 2

for n in (1, 2, 3, 3):
    double(tf.ones(n))
"""


def test_retraces_are_counted(profile: Any) -> None:
    pytest.importorskip("tensorflow")
    run = profile(RETRACED)
    assert (run.counter("traces"), run.counter("retraces")) == (3, 2)


UNINSTALLED = """
import keras, tensorflow as tf
from keras.src.backend.tensorflow.trainer import TensorFlowTrainer
from keras.src.optimizers.base_optimizer import BaseOptimizer
places = [(TensorFlowTrainer, "fit"), (TensorFlowTrainer, "predict"), (BaseOptimizer, "apply"),
          (keras.layers.Layer, "__call__"), (tf.GradientTape, "gradient")]
before = [vars(owner)[name] for owner, name in places]
from hotloop import get_profiler
from hotloop.hooks.install import Hooks
hooks = Hooks(get_profiler(), {"tensorflow": ("tensorflow",), "keras": ("keras",)})
hooks.install()
print([vars(owner)[name] is was for (owner, name), was in zip(places, before)])
hooks.uninstall()
print([vars(owner)[name] is was for (owner, name), was in zip(places, before)])
"""


def test_hooks_come_off_completely(profile: Any) -> None:
    pytest.importorskip("tensorflow")
    on, off = profile(UNINSTALLED, hotloop=False).out.splitlines()
    assert on == str([False] * 5)
    assert off == str([True] * 5)
