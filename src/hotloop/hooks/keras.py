"""Keras 3 on TensorFlow, torch or JAX.

A call of `fit` or `train_on_batch` is `learn`; inside it `learn.fit` is Keras's own work around the
gradient steps (data pipeline, callbacks, metrics) and `learn.step` one call of the compiled train
function, which is opaque on TensorFlow and JAX. Where it is not (torch, `run_eagerly`), the forward
pass, the loss and the optimizer show inside it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from hotloop import get_profiler
from hotloop.hooks import tensorflow as tf_hooks
from hotloop.hooks.batch import batch
from hotloop.hooks.networks import (
    WHOLE,
    call_learning,
    call_network,
    first_rows,
    learned,
    rows_of,
    update_is_over,
)
from hotloop.hooks.plain_loop import OPTIMIZER, flow
from hotloop.hooks.table import Library, Place

_core = get_profiler().core
_is_open = _core.is_open
_fit = _core.region("learn.fit")
_step = _core.region("learn.step")
_loss = _core.region("learn.loss")
_optimizer = _core.region("learn.optimizer")

#: What Keras takes for an array's batch where nobody says.
_USUAL_BATCH = 32


class Rows:
    """The rows of the batches that one `fit` goes through, in their order."""

    def __init__(self, rows: int, size: int, steps: int | None = None) -> None:
        self._rows = rows
        self._size = max(size, 1)
        #: Batches of an epoch, 0 if that is not known.
        self._steps = steps or -(-rows // self._size)
        self._done = 0

    def take(self, steps: int) -> list[int]:
        """The rows of each batch of the next execution."""
        if not self._steps:
            return [0] * steps
        at = self._done % self._steps
        steps = min(steps, self._steps - at)
        self._done += steps
        whole = self._size
        return [min(whole, self._rows - (at + i) * whole) or whole for i in range(steps)]


_fits: list[Rows] = []


def _time_fit(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def fit(
        self: Any, x: Any = None, y: Any = None, batch_size: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        rows = rows_of(x)
        # Validation data that `fit` cuts off itself is not learned from.
        split = kwargs.get("validation_split") or 0.0
        if split and kwargs.get("validation_data") is None:
            rows = int(rows * (1.0 - split))
        per_epoch = kwargs.get("steps_per_epoch") if rows else None
        _fits.append(Rows(rows, batch_size or _USUAL_BATCH, per_epoch))
        try:
            return call_learning(original, (self, x, y, batch_size, *args), kwargs, _fit)
        finally:
            _fits.pop()
            update_is_over()

    return fit


def _time_batch(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def train_on_batch(self: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        rows = rows_of(x)
        _fits.append(Rows(rows, rows))
        try:
            return call_learning(original, (self, x, *args), kwargs, _fit)
        finally:
            _fits.pop()
            update_is_over()

    return train_on_batch


def _time_train_function(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def make_train_function(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        function = self.train_function
        # Also one that was made before the hooks were on.
        if function is not None and not getattr(function, "is_timed", False):
            self.train_function = _one_execution(self, function)
        return self.train_function if result is not None else None

    return make_train_function


def _one_execution(model: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    from weakref import ref

    known = ref(model)

    @functools.wraps(function)
    def train_function(*args: Any, **kwargs: Any) -> Any:
        _step.enter()
        try:
            result = function(*args, **kwargs)
        finally:
            _step.exit()
        owner = known()
        if owner is not None and _core.enabled:
            steps = int(getattr(owner, "steps_per_execution", 1) or 1)
            for rows in _fits[-1].take(steps) if _fits else [0] * steps:
                learned(id(owner.optimizer), rows)
        return result

    train_function.is_timed = True  # type: ignore[attr-defined]
    return train_function


def _time_network(original: Callable[..., Any]) -> Callable[..., Any]:
    """`predict` and `predict_on_batch`: without gradients."""

    @functools.wraps(original)
    def predict(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _core.enabled or _is_open(*WHOLE):
            return original(self, *args, **kwargs)
        rows = first_rows(args, kwargs)
        return call_network(self, False, rows, original, (self, *args), kwargs)

    return predict


def _time_call(original: Callable[..., Any]) -> Callable[..., Any]:
    """`model(x)`; the layers inside it are parts of it, and so is what a trace goes through."""

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _core.enabled or _is_open(*WHOLE) or _is_symbolic(args):
            if _is_open("compile"):
                tf_hooks.note_network()
            return original(self, *args, **kwargs)
        rows = first_rows(args, kwargs)
        return call_network(self, _has_gradients(), rows, original, (self, *args), kwargs)

    return call


def _is_symbolic(args: tuple[Any, ...]) -> bool:
    value = args[0] if args else None
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    if isinstance(value, dict):
        value = next(iter(value.values()), None)
    return type(value).__name__ == "KerasTensor"


def _has_gradients() -> bool:
    """Whether what is computed now can be differentiated later."""
    record = sys.modules.get("tensorflow.python.eager.record")
    if record is not None and record.could_possibly_record():
        return True
    if _backend() == "torch":
        return bool(sys.modules["torch"].is_grad_enabled())
    return False


def _backend() -> str:
    config = sys.modules.get("keras.src.backend.config")
    return str(config.backend()) if config is not None else ""


def _time_loss(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def compute_loss(*args: Any, **kwargs: Any) -> Any:
        if _is_open("compile", "learn.loss"):
            return original(*args, **kwargs)
        _loss.enter()
        try:
            return original(*args, **kwargs)
        finally:
            _loss.exit()

    return compute_loss


def _time_optimizer(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def apply(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_open("compile"):
            tf_hooks.note_optimizer(id(self))
            return original(self, *args, **kwargs)
        if _is_open("learn.optimizer"):
            return original(self, *args, **kwargs)
        _optimizer.enter()
        try:
            result = original(self, *args, **kwargs)
        finally:
            _optimizer.exit()
        # Inside Keras's own step that step is counted.
        if not _is_open("learn.step"):
            batch.optimizer(id(self))
        flow.happened(OPTIMIZER)
        return result

    return apply


def _trainer(module: str, name: str) -> tuple[Place, ...]:
    """The places of one backend's trainer; the other backends' are never imported."""
    return (
        Place(module, f"{name}.fit", "learn", wrapper=_time_fit),
        Place(module, f"{name}.train_on_batch", "learn", wrapper=_time_batch),
        Place(module, f"{name}.make_train_function", "learn.step", wrapper=_time_train_function),
        Place(module, f"{name}.predict", "policy.act", wrapper=_time_network),
        Place(module, f"{name}.predict_on_batch", "policy.act", wrapper=_time_network),
        Place(module, f"{name}.evaluate", "evaluate", outermost=True),
    )


def _weights_read(result: Any, *_: Any) -> None:
    _core.count("transfers", len(result))
    _core.count("transfer_bytes", sum(getattr(each, "nbytes", 0) for each in result))


def _weights_written(result: Any, model: Any, weights: Any, *_: Any) -> None:
    _weights_read(weights)


LIBRARY = Library(
    title="Keras",
    distribution="keras",
    places=(
        *_trainer("keras.src.backend.tensorflow.trainer", "TensorFlowTrainer"),
        *_trainer("keras.src.backend.torch.trainer", "TorchTrainer"),
        *_trainer("keras.src.backend.jax.trainer", "JAXTrainer"),
        Place("keras.src.layers.layer", "Layer.__call__", "learn.forward", wrapper=_time_call),
        Place(
            "keras.src.trainers.trainer", "Trainer._compute_loss", "learn.loss", wrapper=_time_loss
        ),
        Place(
            "keras.src.optimizers.base_optimizer",
            "BaseOptimizer.apply",
            "learn.optimizer",
            wrapper=_time_optimizer,
        ),
        # A target network is moved this way, through host memory.
        Place(
            "keras.src.layers.layer", "Layer.get_weights", "transfer", _weights_read, outermost=True
        ),
        Place(
            "keras.src.layers.layer",
            "Layer.set_weights",
            "transfer",
            _weights_written,
            outermost=True,
        ),
        Place("keras.src.models.model", "Model.save", "checkpoint", outermost=True),
        Place("keras.src.models.model", "Model.save_weights", "checkpoint", outermost=True),
        Place("keras.src.models.model", "Model.load_weights", "checkpoint", outermost=True),
    ),
)
