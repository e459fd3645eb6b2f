"""Findings of tree search."""

from __future__ import annotations

from analyses import Make, frame, ids, phase, sample, window

from hotloop.diagnose.finding import Finding
from hotloop.diagnose.rules.learning.search import one_leaf_per_pass, one_row_inference


def test_one_position_per_forward_pass_is_found(make: Make) -> None:
    network = phase("search.network", 4, calls=1000)
    assert ids(one_leaf_per_pass(make(network, search_leaves=1000))) == ["one-leaf-per-pass"]
    assert one_leaf_per_pass(make(network, search_leaves=8000)) == []
    rare = phase("search.network", 0.5, calls=1000)
    assert one_leaf_per_pass(make(rare, search_leaves=1000)) == []


def test_a_network_that_nothing_identifies_and_that_gets_one_row_at_a_time(make: Make) -> None:
    """Self-play without a recognized environment: rows and order are all that is known."""
    torch = frame("Linear.forward", "/venv/lib/python3.11/site-packages/torch/nn/linear.py")
    asks, driver = frame("judge", line=30), frame("play", line=40)
    samples = [
        sample("inference", 4.0, torch, asks, driver),
        sample("", 2.0, asks, driver),  # it brings rows and answers into shape
        sample("", 1.0, frame("select", line=20), driver),
    ]
    lines = {driver.file: {"40": [["judge"], 38]}}

    def found(rows: float, updates: int, seconds: float = 4.0) -> list[Finding]:
        network = phase("inference", seconds, calls=8000)
        made = make(
            network,
            samples=samples,
            notes={"lines": lines},
            windows=[window(0, {}, counters={"inference_rows": 8000 * rows})],
            gradient_steps=updates,
        )
        return one_row_inference(made)

    (one,) = found(rows=1, updates=20)
    assert one.id == "unbatched-policy"
    assert one.severity == "warning"
    assert one.where[0].line == 40
    assert one.evidence["seconds"] == 6.0
    assert found(rows=16, updates=20) == []
    assert found(rows=1, updates=2000) == []  # a few per update: one environment, one value
    assert found(rows=1, updates=20, seconds=1.0) == []
