"""Telemetry of Keras: calls of `predict` with their batch sizes, and the sizes of models."""

from __future__ import annotations

import functools
import sys
import time
import weakref
from math import prod
from typing import TYPE_CHECKING

from hotloop.capture import schema
from hotloop.capture.schema import Network, Notes
from hotloop.hooks.inference.networks import first_batch_size
from hotloop.hooks.protocols import Foreign, Function
from hotloop.hooks.wrapping import observe, put_hook

if TYPE_CHECKING:
    from hotloop.hooks.telemetry.collect import Telemetry

_TRAINERS = (
    ("keras.src.backend.tensorflow.trainer", "TensorFlowTrainer"),
    ("keras.src.backend.torch.trainer", "TorchTrainer"),
    ("keras.src.backend.jax.trainer", "JAXTrainer"),
)


def install(telemetry: Telemetry) -> None:
    """Time `predict` as a whole, and describe every optimizer when it is built."""
    for module, name in _TRAINERS:
        trainer = getattr(sys.modules.get(module), name, None)
        if trainer is not None and "predict" in vars(trainer):
            timed = functools.partial(_time_predict, telemetry)
            telemetry.add(undo=put_hook(trainer, "predict", timed))
    base = getattr(sys.modules.get("keras.src.optimizers.base_optimizer"), "BaseOptimizer", None)
    if base is not None and "build" in vars(base):
        models = Models()
        hook = observe(telemetry.context, models.built)
        telemetry.add(notes=models.notes, undo=put_hook(base, "build", hook))


def _time_predict(telemetry: Telemetry, original: Function) -> Function:
    """A call takes milliseconds: timing it twice costs nothing."""
    clock, count = time.perf_counter, telemetry.count

    def note(args: Foreign, kwargs: Foreign) -> None:
        count(schema.PREDICT_ROWS, max(first_batch_size(args, kwargs), 1))
        telemetry.lines.note(schema.CALL_PREDICT)

    @functools.wraps(original)
    def predict(model: Foreign, *args: Foreign, **kwargs: Foreign) -> object:
        begin = clock()
        try:
            return original(model, *args, **kwargs)
        finally:
            count(schema.PREDICT_S, clock() - begin)
            count(schema.PREDICT_CALLS, 1)
            telemetry.context.guard("Keras: a predict", note, args, kwargs)

    return predict


class Models:
    """How many parameters the optimizers of a program train."""

    def __init__(self) -> None:
        self._optimizers: list[weakref.ref[Foreign]] = []
        self._known: list[dict[str, object]] = []

    def built(
        self, result: object, optimizer: Foreign, variables: Foreign, *_: object, **__: object
    ) -> None:
        """An optimizer was built for these variables."""
        if not any(ref() is optimizer for ref in self._optimizers):
            self._optimizers.append(weakref.ref(optimizer))
            self._known.append(_describe(optimizer, list(variables)))

    def notes(self) -> dict[str, object]:
        """The optimizers' networks, for the capture."""
        return {Notes.keras_networks: list(self._known)} if self._known else {}


def _describe(optimizer: Foreign, variables: list[Foreign]) -> dict[str, object]:
    sizes = [prod(map(int, variable.shape)) for variable in variables]
    return {
        Network.library: "keras",
        Network.optimizer: type(optimizer).__name__,
        Network.parameters: sum(sizes),
        Network.tensors: len(sizes),
        Network.convolutions: sum(len(variable.shape) >= 4 for variable in variables),
    }
