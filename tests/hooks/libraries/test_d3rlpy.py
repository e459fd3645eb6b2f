"""d3rlpy offline: batches, updates and logging, without an environment."""

from __future__ import annotations

import pytest
from profiling import Profile

pytest.importorskip("d3rlpy")

OFFLINE = """
import numpy as np, d3rlpy
rng = np.random.default_rng(0)
rows = 400
dataset = d3rlpy.dataset.MDPDataset(
    rng.normal(size=(rows, 4)).astype("float32"),
    {actions},
    rng.normal(size=rows).astype("float32"),
    (np.arange(rows) % 20 == 19).astype("float32"),
)
algorithm = d3rlpy.algos.{algorithm}(batch_size=16{more}).create(device="cpu:0")
algorithm.fit(
    dataset, n_steps=30, n_steps_per_epoch=15, show_progress=False,
    logger_adapter=d3rlpy.logging.NoopAdapterFactory(),
)
"""


DISCRETE = "rng.integers(0, 2, size=rows)"
CONTINUOUS = "rng.uniform(-1, 1, size=(rows, 2)).astype('float32')"


@pytest.mark.framework
def test_rows_that_a_conservative_loss_repeats_are_counted_once(profile: Profile) -> None:
    run = profile(OFFLINE.format(algorithm="CQLConfig", more="", actions=CONTINUOUS))
    assert (run.counter("gradient_steps"), run.counter("samples")) == (30, 30 * 16)


@pytest.mark.framework
@pytest.mark.parametrize(
    ("algorithm", "more"),
    [("DiscreteCQLConfig", ""), ("DiscreteDecisionTransformerConfig", ", context_size=4")],
)
def test_learning_from_a_dataset(profile: Profile, algorithm: str, more: str) -> None:
    run = profile(OFFLINE.format(algorithm=algorithm, more=more, actions=DISCRETE))
    assert run.calls("learn") == 30
    assert run.calls("buffer.sample") == 29  # the loop begins with the first update
    assert run.counter("gradient_steps") == 30
    assert run.counter("env_steps") == 0
    names = {phase["name"] for phase in run.report["phases"]}
    assert {"learn.forward", "learn.backward", "learn.optimizer", "log"} <= names
    assert not {"policy.act", "env.step", "advantage", "buffer.add"} & names
    assert "No RL loop" not in run.report["verdict"]["sentence"]
