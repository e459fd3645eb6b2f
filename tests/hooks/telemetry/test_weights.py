"""Weights of two runs are compared by their digests, and by distance where those differ."""

from __future__ import annotations

import numpy as np
import pytest

from hotloop.analyze.comparing.weights import DIFFER, ROUNDING, SAME, compare_weights
from hotloop.capture.schema import Weights
from hotloop.hooks.telemetry import weights
from hotloop.hooks.telemetry.weights import Trained, WeightsAtEnd, weights_of


def taken(*optimizers: list[np.ndarray]) -> Weights:
    return Weights(weights_of([trained(each) for each in optimizers]))


def trained(arrays: list[np.ndarray]) -> Trained:
    return Trained(list(arrays), lambda array: array.size, lambda array: array)


@pytest.fixture
def layers() -> list[np.ndarray]:
    chance = np.random.default_rng(0)
    return [chance.normal(size=(64, 32)), chance.normal(size=32)]


def test_the_same_weights_in_any_order_of_optimizers(layers: list[np.ndarray]) -> None:
    other = [np.ones(5)]
    assert compare_weights(taken(layers, other), taken(other, layers)) == SAME


def test_rounding_is_separated_from_other_training(layers: list[np.ndarray]) -> None:
    rounded = [layer * (1 + 1e-6) for layer in layers]
    trained = [layer + 0.05 * np.random.default_rng(1).normal(size=layer.shape) for layer in layers]
    assert compare_weights(taken(layers), taken(rounded)) == ROUNDING
    assert compare_weights(taken(layers), taken(trained)) == DIFFER


def test_nothing_is_said_without_weights(layers: list[np.ndarray]) -> None:
    assert compare_weights(taken(layers), None) is None
    assert weights_of([]) == {}


def test_a_parameter_of_two_optimizers_is_read_once(layers: list[np.ndarray]) -> None:
    read: list[int] = []
    counted = Trained(layers, lambda array: array.size, lambda array: read.append(1) or array)
    shared = Trained(layers[1:], counted.elements, counted.read)
    one, other = weights_of([counted, shared]), weights_of([shared, counted])
    assert one == other
    assert one["tensors"] == 2
    assert len(read) == 4


def test_the_limit_is_one_for_all_optimizers(
    layers: list[np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = trained([np.ones(10)])
    monkeypatch.setattr(weights, "MOST_ELEMENTS", 64 * 32 + 32)
    assert weights_of([trained(layers)])
    assert weights_of([trained(layers), other]) == {}


def test_weights_of_every_precision_are_read() -> None:
    torch = pytest.importorskip("torch")
    digests = set()
    for dtype, value in [(torch.bfloat16, 1.0), (torch.float64, 1.0), (torch.float64, 1 + 1e-12)]:
        parameter = torch.nn.Parameter(torch.full((3, 2), value, dtype=dtype).T)
        optimizer = torch.optim.SGD([parameter], 0.1)
        digests.add(weights_of([_only(optimizer)])["digest"])
    assert len(digests) == 3
    taken = WeightsAtEnd()
    taken.take()
    assert taken.notes()


def _only(optimizer: object) -> Trained:
    (found,) = (
        t
        for t in weights._torch_optimizers()
        if t.parameters[0] is optimizer.param_groups[0]["params"][0]
    )
    return found
