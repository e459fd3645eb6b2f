"""TensorFlow without Keras's own loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("keras")

pytest.importorskip("gymnasium")

pytestmark = pytest.mark.framework

PROGRAMS = Path(__file__).parents[1] / "own_programs"


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")


@pytest.mark.real_time
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
    run.check_accounted()
    assert run.calls("policy.act") > 0
    if mode == "eager":
        # Its loop over tensors is the program's own function, called and rewritten as it is.
        assert run.calls("learn.backward") == run.calls("learn.optimizer") == updates
    else:
        assert run.calls("learn.step") == updates - 1  # the first call is compiling
        assert run.counter("traces") >= 2


@pytest.mark.real_time
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
    run.check_accounted()


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
