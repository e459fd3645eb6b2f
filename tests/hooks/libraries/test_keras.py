"""Keras 3 on TensorFlow and on torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hotloop.hooks.libraries.keras import Rows

pytest.importorskip("keras")
pytest.importorskip("gymnasium")

pytestmark = pytest.mark.framework

PROGRAMS = Path(__file__).parents[1] / "own_programs"

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
        (0, 32, 1, [[0], [0]]),  # a generator: unknown
    ],
)
def test_rows_of_the_batches_of_a_fit(
    rows: int, size: int, steps: int, taken: list[list[int]]
) -> None:
    batches = Rows(rows, size)
    assert [batches.take(steps) for _ in taken] == taken


@pytest.mark.real_time
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
    run.check_accounted()
    assert run.paths["learn/learn.fit/learn.step"]["calls"] == updates
    assert run.calls("learn.forward") >= 2 * updates
    assert not any(facts["missing"] for facts in run.report["libraries"].values())
    if backend == "torch":
        inside = "learn/learn.fit/learn.step/"
        parts = {"learn.forward", "learn.loss", "learn.backward", "learn.optimizer"}
        assert {inside + part for part in parts} <= set(run.paths)


UNINSTALLED = """
import keras, tensorflow as tf
from keras.src.backend.tensorflow.trainer import TensorFlowTrainer
from keras.src.optimizers.base_optimizer import BaseOptimizer
places = [(TensorFlowTrainer, "fit"), (TensorFlowTrainer, "predict"), (BaseOptimizer, "apply"),
          (keras.layers.Layer, "__call__"), (tf.GradientTape, "gradient")]
before = [vars(owner)[name] for owner, name in places]
from hotloop import get_profiler
from hotloop.hooks.context import HookContext
from hotloop.hooks.install import Hooks
hooks = Hooks(HookContext(get_profiler()), {"tensorflow": ("tensorflow",), "keras": ("keras",)})
def as_before():
    original = get_profiler().core.original
    return [vars(o)[n] is was and original(was) is was for (o, n), was in zip(places, before)]
hooks.install()
print(as_before())
hooks.uninstall()
print(as_before())
"""


def test_hooks_come_off_completely(profile: Any) -> None:
    pytest.importorskip("tensorflow")
    on, off = profile(UNINSTALLED, hotloop=False).out.splitlines()
    assert on == str([False] * 5)
    assert off == str([True] * 5)
