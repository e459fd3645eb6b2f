"""Figures beside the program's own curves, read back with the real readers."""

from __future__ import annotations

import csv
import json
import os
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hotloop import Profiler
from hotloop.capture.window import PhaseDelta, Window
from hotloop.hooks.context import HookContext
from hotloop.hooks.install import Hooks
from hotloop.integrations.scalars import LEAST_S, SHARE, Scalars, Sink

pytestmark = pytest.mark.framework

PROGRAM = Path(__file__).parent / "sb3_program.py"
#: One window of these tests: a second with 100 steps of 4 ms in the environment.
STEPS, STEP_MS = 100, 4.0


class Training:
    """A training run with given windows, and the real libraries that it logs with."""

    def __init__(self) -> None:
        self.hooks = Hooks(HookContext(Profiler()), {})
        self.scalars = Scalars(Profiler(), self.hooks)
        self.seconds = 0
        self.hooks.install()

    def passes(self, seconds: int, in_loop: bool = True) -> None:
        for _ in range(seconds):
            begin = self.seconds * 10**9
            window = Window(self.seconds, self.seconds, begin, begin + 10**9)
            step = PhaseDelta(STEPS, int(STEPS * STEP_MS * 1e6), int(STEPS * STEP_MS * 1e6))
            window.phases = {"env.step": step, "": PhaseDelta(0, 10**9 - step.self_ns)}
            window.counters = {"env_steps": STEPS}
            window.gauges = {"resident": 5e8}
            window.loop_last_ns = window.end_ns if in_loop else 0
            self.scalars.take(window)
            self.seconds += 1


@pytest.fixture
def training() -> Iterator[Training]:
    made = Training()
    yield made
    made.hooks.uninstall()


def read_events(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Tag -> points, with TensorBoard's own reader."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray

    reader = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    reader.Reload()
    found = {
        tag: [(e.step, e.value) for e in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]
    }
    for tag in reader.Tags()["tensors"]:
        found[tag] = [(e.step, float(make_ndarray(e.tensor_proto))) for e in reader.Tensors(tag)]
    return found


@pytest.mark.parametrize("module", ["torch.utils.tensorboard", "tensorboardX"])
def test_tensorboard(training: Training, tmp_path: Path, module: str) -> None:
    writers = pytest.importorskip(module)
    with writers.SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("return", 1.0, 0)  # nothing has been measured yet
        training.passes(3, in_loop=False)
        writer.add_scalar("return", 1.0, 5)  # still not training
        for step in range(10, 60, 10):
            training.passes(2)
            writer.add_scalar("return", 1.0, global_step=step)
            writer.add_scalar(tag="loss", scalar_value=1.0, global_step=step * 1000)
    found = read_events(tmp_path)
    steps = [10, 20, 30, 40, 50]  # those of one of the program's curves, never mixed
    assert [step for step, _ in found["hotloop/steps_per_s"]] == steps
    for name, value in (
        ("hotloop/steps_per_s", STEPS),
        ("hotloop/env.step_ms_per_step", STEP_MS),
        ("hotloop/in_no_phase_ms_per_step", 10.0 - STEP_MS),
        ("hotloop/all_ms_per_step", 10.0),
        ("hotloop/memory_mb", 500),
    ):
        assert [v for _, v in found[name]] == pytest.approx([value] * 5)
    assert len(found["return"]) == 7
    assert len(found["loss"]) == 5
    training.hooks.uninstall()
    assert not hasattr(writers.SummaryWriter.add_scalar, "__wrapped__")


def test_a_tag_that_never_comes_again_is_given_up(training: Training, tmp_path: Path) -> None:
    writers = pytest.importorskip("tensorboardX")
    with writers.SummaryWriter(str(tmp_path)) as writer:
        training.passes(2)
        writer.add_scalar("settings/rate", 1.0, 0)
        for step in range(1, 20):
            training.passes(2)
            writer.add_scalar("loss", 1.0, step)
    steps = [step for step, _ in read_events(tmp_path)["hotloop/steps_per_s"]]
    assert steps[0] == 0
    assert steps[1:] == list(range(5, 20))


def test_long_runs_get_few_points(training: Training, tmp_path: Path) -> None:
    writers = pytest.importorskip("tensorboardX")
    training.passes(1000)
    with writers.SummaryWriter(str(tmp_path)) as writer:
        for step in range(100):
            writer.add_scalar("loss", 1.0, step)
            training.passes(1)
    assert len(read_events(tmp_path)["hotloop/steps_per_s"]) == 1 + int(100 / (1000 * SHARE)) - 1


def test_steps_must_not_run_backwards() -> None:
    sink = Sink()
    assert sink.follows("a", 1000)
    assert not any(sink.follows("b", 3) for _ in range(50))
    assert sink.follows("b", 2000)


def test_tf_summary(training: Training, tmp_path: Path) -> None:
    tf = pytest.importorskip("tensorflow")

    @tf.function
    def in_a_graph(step: Any) -> None:
        tf.summary.scalar("traced", 1.0, step=step)

    with tf.summary.create_file_writer(str(tmp_path)).as_default():
        for step in range(4):
            training.passes(2)
            tf.summary.scalar("loss", 0.5, step=step)
            in_a_graph(tf.constant(step, tf.int64))
    found = read_events(tmp_path)
    assert found["hotloop/env.step_ms_per_step"] == [(s, pytest.approx(STEP_MS)) for s in range(4)]
    assert len(found["loss"]) == len(found["traced"]) == 4


def test_keras_callback(training: Training, tmp_path: Path) -> None:
    """Keras's own TensorBoard callback has another copy of TensorFlow's function."""
    pytest.importorskip("tensorflow")
    keras = pytest.importorskip("keras")
    callback = keras.callbacks.TensorBoard(str(tmp_path), write_graph=False)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    callback.set_model(model)
    for epoch in range(3):
        training.passes(2)
        callback.on_epoch_end(epoch, {"loss": 0.5})
    callback.on_train_end()
    found = read_events(tmp_path / "train")
    assert found["hotloop/env.step_ms_per_step"] == [(s, pytest.approx(STEP_MS)) for s in range(3)]
    assert len(found["epoch_loss"]) == 3


def read_wandb(folder: Path) -> list[dict[str, Any]]:
    """The rows of an offline run, from the file that `wandb sync` would send."""
    from wandb.proto import wandb_internal_pb2 as pb

    rows: list[dict[str, Any]] = []
    for data in _records(next(folder.glob("wandb/offline-run-*/*.wandb")).read_bytes()):
        record = pb.Record()
        record.ParseFromString(data)
        if record.WhichOneof("record_type") == "history":
            items = record.history.item
            rows.append({i.key or "/".join(i.nested_key): json.loads(i.value_json) for i in items})
    return rows


def _records(content: bytes) -> Iterator[bytes]:
    """LevelDB's log format: blocks of 32 KiB, records of checksum, length and kind."""
    at, record = 7, b""  # after the file's own header
    while at + 7 <= len(content):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        length, kind = struct.unpack_from("<HB", content, at + 4)
        record += content[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or its last part
            yield record
            record = b""


def test_wandb(training: Training, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb")
    monkeypatch.chdir(tmp_path)
    run = wandb.init(mode="offline", dir=str(tmp_path), settings=wandb.Settings(silent=True))
    mine = {"return": 1.0}
    for step in range(6):
        training.passes(1)
        wandb.log(mine) if step % 2 else run.log(data=mine)
    run.finish()
    # Another process writes the file, and may be a moment behind.
    deadline = time.monotonic() + 30
    while len(rows := read_wandb(tmp_path)) < 6 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [row["_step"] for row in rows] == list(range(6))  # no step of our own
    assert mine == {"return": 1.0}
    every = [row.get("hotloop/env.step_ms_per_step") for row in rows]
    assert every == [None, pytest.approx(STEP_MS)] * 3


def test_sb3_as_it_is(tmp_path: Path) -> None:
    """`hotloop run --scalars`: same weights, same standard output, same steps as its own curves."""
    pytest.importorskip("stable_baselines3")
    alone, with_it = tmp_path / "alone", tmp_path / "with"
    outputs = []
    for folder, command in ((alone, []), (with_it, ["-m", "hotloop", "run", "-q", "--scalars"])):
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, *command, str(PROGRAM), "40960"],
            cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    own, found = read_events(alone / "log"), read_events(with_it / "log")
    assert set(own) <= set(found)
    assert all(name.startswith("hotloop/") for name in set(found) - set(own))
    steps = [step for step, _ in found["hotloop/steps_per_s"]]
    assert steps
    assert set(steps) <= {step for step, _ in found["rollout/ep_rew_mean"]}
    whole = dict(found["hotloop/all_ms_per_step"])
    assert {"hotloop/collect_in_all_ms_per_step", "hotloop/learn_in_all_ms_per_step"} <= set(found)
    not_parts = ("all_ms_per_step", "_in_all_ms_per_step")
    parts = {
        step: sum(
            dict(points).get(step, 0.0)
            for name, points in found.items()
            if name.endswith("_ms_per_step") and not name.endswith(not_parts)
        )
        for step in whole
    }
    # Phases too small for a curve are left out, and the sampler's own cost is.
    assert parts == pytest.approx(whole, rel=0.1)
    with open(with_it / "log" / "progress.csv") as file:
        rows = list(csv.DictReader(file))
    assert any(row["hotloop/steps_per_s"] for row in rows)
    assert LEAST_S < 3  # else this program would be too short to show anything, on a fast machine
