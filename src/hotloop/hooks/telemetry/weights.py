"""A digest of a program's trained weights at its end, to compare two runs.

Equal digests mean equal weights, bit for bit. Weights that differ are compared by projections on
fixed random vectors: the distance between two projections estimates the distance between the
weights (Johnson & Lindenstrauss 1984) without keeping the weights themselves. Parameters are read
one at a time, and one that several optimizers train is read once.
"""

from __future__ import annotations

import gc
import hashlib
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from hotloop.capture.schema import Notes, Weights
from hotloop.measure.core import Core

#: Random projections of each tensor.
PROJECTIONS = 8
#: Trained elements of a process, of all frameworks together, up to which weights are read at all:
#: reading delays the end of the program.
MOST_ELEMENTS = 500_000_000
#: Elements of a tensor that are projected; the digest covers all of them.
MOST_PROJECTED = 1 << 20


class WeightsAtEnd:
    """The weights that optimizers of this process were training, taken once."""

    def __init__(self) -> None:
        self._note: dict[str, Any] | None = None

    def take(self) -> None:
        """Read the weights now, while the program's objects are still there."""
        if self._note is None:
            self._note = weights_of([*_torch_optimizers(), *_keras_optimizers()])

    def notes(self) -> dict[str, Any]:
        return {Notes.weights: self._note} if self._note else {}


@dataclass(frozen=True)
class Trained:
    """The parameters of one optimizer in their order, and how one is read."""

    parameters: list[Any]
    elements: Callable[[Any], int]
    read: Callable[[Any], Any]


def weights_of(optimizers: list[Trained]) -> dict[str, Any]:
    """The note about the parameters of these optimizers."""
    import numpy

    # The first index of a parameter, whichever optimizer the garbage collector lists first.
    first: dict[int, int] = {}
    found: dict[int, tuple[Trained, Any]] = {}
    for each in optimizers:
        for index, parameter in enumerate(each.parameters):
            first[id(parameter)] = min(index, first.get(id(parameter), index))
            found[id(parameter)] = each, parameter
    total = sum(each.elements(parameter) for each, parameter in found.values())
    if not found or total > MOST_ELEMENTS:
        return {}
    summaries = {
        key: _summary(each.read(parameter), first[key]) for key, (each, parameter) in found.items()
    }
    # Sums of floating-point numbers depend on their order.
    ordered = sorted(summaries.values(), key=lambda summary: summary.digest)
    of_optimizers = sorted(
        hashlib.sha256(b"".join(summaries[id(p)].digest for p in each.parameters)).hexdigest()
        for each in optimizers
    )
    return {
        Weights.tensors: len(found),
        Weights.digest: hashlib.sha256("".join(of_optimizers).encode()).hexdigest(),
        Weights.norm: sum(summary.square for summary in ordered) ** 0.5,
        Weights.sketch: numpy.sum([summary.projected for summary in ordered], axis=0).tolist(),
    }


class _Summary(NamedTuple):
    """One array: its digest, its squared norm and its projections."""

    digest: bytes
    square: float
    projected: list[float]


def _summary(array: Any, seed: int) -> _Summary:
    import numpy

    flat: Any = numpy.ascontiguousarray(array).reshape(-1)
    digest = hashlib.sha256(str(array.shape).encode())
    digest.update(flat.view(numpy.uint8))
    square = 0.0
    for begin in range(0, len(flat), MOST_PROJECTED):
        part = flat[begin : begin + MOST_PROJECTED].astype(float)
        square += float(part @ part)
    chance = numpy.random.default_rng(seed)
    part = flat[:MOST_PROJECTED].astype(float)
    projected = [float(chance.standard_normal(len(part)) @ part) for _ in range(PROJECTIONS)]
    return _Summary(digest.digest(), square, projected)


def _torch_optimizers() -> Iterator[Trained]:
    torch = sys.modules.get("torch")
    base = getattr(getattr(torch, "optim", None), "Optimizer", None)
    for optimizer in _alive(base):
        tensors = [tensor for group in optimizer.param_groups for tensor in group["params"]]
        if tensors:
            yield Trained(tensors, lambda tensor: int(tensor.numel()), _read_torch)


def _read_torch(tensor: Any) -> Any:
    # `cpu` and `numpy` are hooked, and this reading is not the program's.
    host = Core.original(type(tensor).cpu)(tensor.detach())
    to_numpy = Core.original(type(host).numpy)
    try:
        return to_numpy(host)
    except TypeError:  # NumPy has no bfloat16; all of its values are in float32
        return to_numpy(host.float())


def _keras_optimizers() -> Iterator[Trained]:
    keras: Any = sys.modules.get("keras")
    base = getattr(getattr(keras, "optimizers", None), "Optimizer", None)
    for optimizer in _alive(base):
        variables = list(getattr(optimizer, "_trainable_variables", None) or [])
        if variables:
            read = keras.ops.convert_to_numpy
            yield Trained(variables, lambda variable: math.prod(variable.shape), read)


def _alive(base: object) -> list[Any]:
    """Objects of a class and its subclasses; nothing of the program is called to find them."""
    if not isinstance(base, type):
        return []
    return [each for each in gc.get_objects() if issubclass(type(each), base)]
