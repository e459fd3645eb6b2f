"""Rules about what a gradient step consists of."""

from __future__ import annotations

import pytest
from analyses import Make, frame, ids, phase, sample

from hotloop.diagnose import diagnose
from hotloop.diagnose.rules.learning import updates

TORCH = "/venv/lib/python3.11/site-packages/torch/"
TRAIN = frame("train", line=30)


@pytest.mark.parametrize(
    ("function", "seconds", "severity"),
    [
        ("_single_tensor_adam", 1.1, "info"),
        ("_single_tensor_adam", 3.0, "warning"),
        ("_multi_tensor_adam", 3.0, "warning"),
        ("_fused_adam", 3.0, None),
    ],
)
def test_adam_in_python(make: Make, function: str, seconds: float, severity: str | None) -> None:
    analysis = make(
        phase("learn.optimizer", seconds),
        samples=[
            sample("learn.optimizer", seconds, frame(function, TORCH + "optim/adam.py"), TRAIN)
        ],
        env_steps=1000,
    )
    found = updates.unfused_optimizer(analysis)
    assert [each.severity for each in found] == ([severity] if severity else [])
    if severity:
        assert found[0].where[0].line == 30
        assert found[0].gain.high <= (found[0].ceiling or 0.0)


def test_adam_on_a_device_counts_what_the_loop_waits_for(make: Make) -> None:
    notes = {
        "machine": {"accelerators": ["CUDA"]},
        "networks": [{"device": "cuda", "parameters": 1e6, "convolutions": 0}],
    }
    slow = frame("_single_tensor_adam", TORCH + "optim/adam.py")

    def found(critical_s: float) -> list[float]:
        analysis = make(
            phase("learn.optimizer", 5.0, critical_s=critical_s),
            samples=[sample("learn.optimizer", 5.0, slow, TRAIN)],
            notes=notes,
            env_steps=1000,
        )
        return [each.evidence["seconds"] for each in updates.unfused_optimizer(analysis)]

    assert found(critical_s=5.0) == [pytest.approx(5.0)]
    # The host is held up there by kernels that other phases launched.
    assert found(critical_s=0.1) == []


def test_sgd_gains_nothing_from_fusing(make: Make) -> None:
    slow = frame("_single_tensor_sgd", TORCH + "optim/sgd.py")
    analysis = make(samples=[sample("learn.optimizer", 5.0, slow, TRAIN)], env_steps=1000)
    assert not updates.unfused_optimizer(analysis)


def test_the_example_fits_the_library(make: Make) -> None:
    slow = frame("_single_tensor_adam", TORCH + "optim/adam.py")
    analysis = make(
        samples=[sample("learn.optimizer", 5.0, slow, TRAIN)],
        notes={"libraries": {"Stable-Baselines3": {}}},
        env_steps=1000,
    )
    (found,) = updates.unfused_optimizer(analysis)
    assert "optimizer_kwargs" in found.after


def test_validation_of_distributions(make: Make) -> None:
    checks = frame("Distribution.__init__", TORCH + "distributions/distribution.py")
    density = frame("Normal.log_prob", TORCH + "distributions/normal.py")
    analysis = make(
        phase("policy.act", 4.0),
        samples=[sample("policy.act", 1.0, checks, TRAIN), sample("policy.act", 3.0, density)],
        env_steps=1000,
    )
    (found,) = updates.distribution_validation(analysis)
    assert found.evidence["seconds"] == pytest.approx(1.0)
    assert found.phase == "policy.act"


def test_a_keras_target_whose_weights_go_through_arrays(make: Make) -> None:
    keras = "/venv/lib/python3.11/site-packages/keras/src/layers/layer.py"
    line, move = frame("update_target", line=248), frame("Layer.set_weights", keras)

    def found(path: str, library: str = "TensorFlow") -> list[str]:
        analysis = make(
            samples=[sample(path, 1.0, move, line, TRAIN)],
            notes={"libraries": {library: {}}},
            env_steps=1000,
        )
        return ids(updates.target_update_loop(analysis))

    assert found("learn.target") == ["target-update-loop"]
    assert found("sync.weights") == found("learn.target", library="JAX") == []


def test_a_target_network_that_follows_tensor_by_tensor(make: Make) -> None:
    line = frame("Agent.follow", line=52)
    lines = {line.file: {"51": [["zip", "a.parameters"], 51], "52": [["copy_"], 51]}}
    analysis = make(
        samples=[sample("learn", 1.0, line, TRAIN)], notes={"lines": lines}, env_steps=1000
    )
    assert ids(diagnose(analysis)) == ["target-update-loop"]
    lines[line.file]["51"] = [["range"], 51]  # rows of a buffer, not tensors of a network
    analysis = make(
        samples=[sample("learn", 1.0, line, TRAIN)], notes={"lines": lines}, env_steps=1000
    )
    assert not updates.target_update_loop(analysis)


def test_recurrence_one_timestep_at_a_time(make: Make) -> None:
    cell = frame("GRUCell.forward", TORCH + "nn/modules/rnn.py")
    line = frame("Memory.whole", line=12)
    samples = [
        sample("learn/learn.forward", 3.0, cell, line, TRAIN),
        sample("learn/learn.backward", 4.0, frame("backward", TORCH + "_tensor.py"), TRAIN),
    ]
    phases = phase("learn/learn.forward", 3.0), phase("learn/learn.backward", 4.0)
    in_time = {line.file: {"12": [["self.cell"], 11]}}
    analysis = make(*phases, samples=samples, notes={"lines": in_time}, env_steps=1000)
    (found,) = updates.stepwise_recurrence(analysis)
    assert found.where[0].line == 12
    assert found.evidence["seconds"] == pytest.approx(7.0)
    over_batches = {line.file: {"12": [["self.cell"], 11], "14": [["loss.backward"], 11]}}
    analysis = make(*phases, samples=samples, notes={"lines": over_batches}, env_steps=1000)
    assert not updates.stepwise_recurrence(analysis)


@pytest.mark.parametrize(("memory_mb", "said"), [(2000, True), (9000, False)])
def test_recomputing_while_memory_is_free(make: Make, memory_mb: float, said: bool) -> None:
    torch = "/venv/lib/python3.11/site-packages/torch"
    layer = frame("Block.forward", line=30)
    recompute = frame("unpack_hook", f"{torch}/utils/checkpoint.py")
    engine = frame("_engine_run_backward", f"{torch}/autograd/graph.py")
    update = frame("update", line=60)
    samples = [
        sample("learn.backward", 3.0, layer, recompute, engine, update),
        # A checkpoint's own gradients are not computed twice.
        sample("learn.backward", 2.0, engine, recompute, engine, update),
    ]
    analysis = make(
        phase("learn.backward", 5.0), samples=samples, notes={"machine": {"memory_bytes": 16e9}}
    )
    analysis.run.memory_peak_mb = memory_mb
    found = updates.checkpointing_with_memory_to_spare(analysis)
    assert [(each.evidence["seconds"], each.where[0].line) for each in found] == [(3.0, 30)] * said


@pytest.mark.parametrize(
    ("dtype", "weights", "said"),
    [("float64", 500_000, True), ("float32", 500_000, False), ("float64", 5_000, False)],
)
def test_a_network_in_double_precision(make: Make, dtype: str, weights: int, said: bool) -> None:
    """A small network's calls take the time, whatever its numbers are."""
    notes = {"networks": [{"dtype": dtype, "parameters": weights}]}
    made = make(phase("learn.backward", 6.0), phase("learn.forward", 3.0), notes=notes)
    found = updates.float64_by_accident(made)
    assert ids(found) == ["float64-by-accident"] * said
    if said:
        assert found[0].gain.low < 1.92 < found[0].gain.high  # measured


@pytest.mark.parametrize(("other", "said"), [(100_000, True), (900_000, False)])
def test_a_network_in_double_precision_beside_others(make: Make, other: int, said: bool) -> None:
    """Where another network is most of what is computed, this one explains little of its time."""
    double, single = (
        {"dtype": dtype, "parameters": parameters}
        for dtype, parameters in (("float64", 500_000), ("float32", other))
    )
    made = make(
        phase("learn.backward", 6.0),
        phase("learn.forward", 3.0),
        notes={"networks": [double, single]},
    )
    found = updates.float64_by_accident(made)
    assert ["Networks compute in float64" in one.title for one in found] == [True] * said
