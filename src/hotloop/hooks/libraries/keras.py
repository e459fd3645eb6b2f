"""Keras 3 on TensorFlow, torch or JAX.

A call of `fit` or `train_on_batch` is `learn`. Inside it, `learn.fit` is Keras's own work around
the gradient steps (data pipeline, callbacks, metrics), and `learn.step` is one call of the compiled
train function, which is opaque on TensorFlow and JAX. Otherwise (torch, `run_eagerly`), the forward
pass, the loss and the optimizer show inside it.
"""

from __future__ import annotations

import functools
import sys
import threading
from weakref import WeakKeyDictionary, ref

from hotloop.capture import schema
from hotloop.hooks.context import HookContext
from hotloop.hooks.inference.events import OPTIMIZER
from hotloop.hooks.inference.networks import WHOLE, batch_size_of, first_batch_size
from hotloop.hooks.library import Library, Target, once
from hotloop.hooks.protocols import Foreign, Function, Region, Undo
from hotloop.hooks.wrapping import dispatch, guarded, timed

#: Keras's default batch size.
_USUAL_BATCH = 32


class Rows:
    """The sizes of the batches that one `fit` iterates over, in order."""

    def __init__(self, rows: int, size: int, steps: int | None = None) -> None:
        self._rows = rows
        self._size = max(size, 1)
        #: Batches of an epoch, 0 if that is not known.
        self._steps = steps or -(-rows // self._size)
        self._done = 0

    def take(self, steps: int) -> list[int]:
        """The size of each batch of the next execution."""
        if not self._steps:
            return [0] * steps
        at = self._done % self._steps
        steps = min(steps, self._steps - at)
        self._done += steps
        whole = self._size
        return [min(whole, self._rows - (at + i) * whole) or whole for i in range(steps)]


class _Fits(threading.local):
    """The calls of `fit` that a thread is in, the outermost first."""

    def __init__(self) -> None:
        self.stack: list[Rows] = []


class TrainerHooks:
    """Hooks of Keras's trainers and layers for one run."""

    def __init__(self, context: HookContext) -> None:
        self._context = context
        self._core = context.core
        self._networks = context.networks
        self._fits = _Fits()
        #: Train functions whose calls are timed, and what detaches their hooks.
        self._timed: WeakKeyDictionary[Function, Undo] = WeakKeyDictionary()

    # -- learning --

    def fit(self, original: Function) -> Function:
        """`Trainer.fit`."""
        rows_of_fit = guarded(self._context, "Keras: batches of a fit", _rows_of_fit)

        @functools.wraps(original)
        def fit(
            model: Foreign,
            x: Foreign = None,
            y: Foreign = None,
            batch_size: Foreign = None,
            *args: Foreign,
            **kwargs: Foreign,
        ) -> object:
            rows = rows_of_fit(x, batch_size, kwargs) or Rows(0, _USUAL_BATCH)
            return self._learn(rows, original, (model, x, y, batch_size, *args), kwargs)

        return fit

    def train_on_batch(self, original: Function) -> Function:
        """`Trainer.train_on_batch`."""

        @functools.wraps(original)
        def train_on_batch(model: Foreign, x: Foreign, *args: Foreign, **kwargs: Foreign) -> object:
            rows = batch_size_of(x)
            return self._learn(Rows(rows, rows), original, (model, x, *args), kwargs)

        return train_on_batch

    def _learn(self, rows: Rows, original: Function, args: Foreign, kwargs: Foreign) -> object:
        stack = self._fits.stack
        stack.append(rows)
        try:
            return self._networks.call_learning(original, args, kwargs, "learn.fit")
        finally:
            stack.pop()
            self._context.guard("Keras: an update", self._networks.update_is_over)

    def make_train_function(self, original: Function) -> Function:
        """`Trainer.make_train_function`, also of a model that was compiled before."""

        @functools.wraps(original)
        def make_train_function(model: Foreign, *args: Foreign, **kwargs: Foreign) -> object:
            result = original(model, *args, **kwargs)
            function = model.train_function
            if function is not None:
                what = "Keras: a train function"
                timed_one = self._context.guard(what, self._train_function, model, function)
                if timed_one is not None and timed_one is not function:
                    model.train_function = timed_one
            return model.train_function if result is not None else None

        return make_train_function

    def _train_function(self, model: Foreign, function: Function) -> Function:
        """The same function with its calls timed, or another one if that is impossible."""
        if function in self._timed:
            return function
        known = ref(model)
        detach = self._core.attach(function, lambda original: self._steps(known, original), True)
        timed_function = self._steps(known, function) if detach is None else function
        self._timed[timed_function] = detach or _nothing
        return timed_function

    def detach(self) -> None:
        """Remove the hooks of all train functions."""
        for each in list(self._timed.values()):
            each()

    def _steps(self, known: ref[Foreign], function: Function) -> Function:

        def count_steps(*_: object, **__: object) -> None:
            owner = known()
            if owner is not None and self._core.enabled:
                steps = int(getattr(owner, "steps_per_execution", 1) or 1)
                stack = self._fits.stack
                for rows in stack[-1].take(steps) if stack else [0] * steps:
                    self._networks.learned(id(owner.optimizer), rows)

        step = self._core.region("learn.step").wrap(function, after=count_steps)

        @functools.wraps(function)
        def train_function(*args: object, **kwargs: object) -> object:
            return step(*args, **kwargs)

        return train_function

    def apply(self, original: Function) -> Function:
        """`BaseOptimizer.apply`."""
        region = self._core.region("learn.optimizer")
        is_open = self._core.is_open

        def choose(optimizer: object, *_: object, **__: object) -> Region | None:
            if is_open("compile"):
                self._context.traces.note_optimizer(id(optimizer))
                return None
            return None if is_open("learn.optimizer") else region

        def after(result: object, optimizer: object, *_: object, **__: object) -> None:
            # Inside Keras's own step that step is counted.
            if not is_open("learn.step"):
                self._context.updates.optimizer(id(optimizer))
            self._context.order.happened(OPTIMIZER)

        return dispatch(self._context, choose, after)(original)

    # -- networks --

    def predict(self, original: Function) -> Function:
        """`predict` and `predict_on_batch`: without gradients."""

        @functools.wraps(original)
        def predict(model: Foreign, *args: Foreign, **kwargs: Foreign) -> object:
            if not self._core.enabled or self._core.is_open(*WHOLE):
                return original(model, *args, **kwargs)
            rows = first_batch_size(args, kwargs)
            return self._networks.call(model, False, rows, original, (model, *args), kwargs)

        return predict

    def call(self, original: Function) -> Function:
        """`model(x)`; its layers, and the calls in a trace, are parts of it."""
        is_open = self._core.is_open

        @functools.wraps(original)
        def call(layer: Foreign, *args: Foreign, **kwargs: Foreign) -> object:
            if not self._core.enabled or is_open(*WHOLE) or _is_symbolic(args):
                if is_open("compile"):
                    self._context.traces.note_network()
                return original(layer, *args, **kwargs)
            rows, gradients = first_batch_size(args, kwargs), _has_gradients()
            return self._networks.call(layer, gradients, rows, original, (layer, *args), kwargs)

        return call

    # -- weights --

    def weights_read(self, result: Foreign, *_: object) -> None:
        """A target network is updated this way, through host memory."""
        self._core.count(schema.TRANSFERS, len(result))
        self._core.count(schema.TRANSFER_BYTES, sum(getattr(each, "nbytes", 0) for each in result))

    def weights_written(self, result: object, model: object, weights: Foreign, *_: object) -> None:
        """The other half of it."""
        self.weights_read(weights)


def _nothing() -> None:
    return None


def _rows_of_fit(x: Foreign, batch_size: int | None, kwargs: Foreign) -> Rows:
    rows = batch_size_of(x)
    # `fit` does not learn from the validation data that it splits off.
    split = kwargs.get("validation_split") or 0.0
    if split and kwargs.get("validation_data") is None:
        rows = int(rows * (1.0 - split))
    per_epoch = kwargs.get("steps_per_epoch") if rows else None
    return Rows(rows, batch_size or _USUAL_BATCH, per_epoch)


def _is_symbolic(args: tuple[Foreign, ...]) -> bool:
    value = args[0] if args else None
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    if isinstance(value, dict):
        value = next(iter(value.values()), None)
    return type(value).__name__ == "KerasTensor"


def _has_gradients() -> bool:
    """Whether current computations can be differentiated later."""
    record = sys.modules.get("tensorflow.python.eager.record")
    if record is not None and record.could_possibly_record():
        return True
    if _backend() == "torch":
        return bool(sys.modules["torch"].is_grad_enabled())
    return False


def _backend() -> str:
    config = sys.modules.get("keras.src.backend.config")
    return str(config.backend()) if config is not None else ""


def _trainer(hooks: TrainerHooks, module: str, name: str) -> tuple[Target, ...]:
    """The targets of one backend's trainer; the other backends' are never imported."""
    return (
        Target(module, f"{name}.fit", "learn", wrapper=hooks.fit),
        Target(module, f"{name}.train_on_batch", "learn", wrapper=hooks.train_on_batch),
        Target(
            module, f"{name}.make_train_function", "learn.step", wrapper=hooks.make_train_function
        ),
        Target(module, f"{name}.predict", "policy.act", wrapper=hooks.predict),
        Target(module, f"{name}.predict_on_batch", "policy.act", wrapper=hooks.predict),
        once(module, f"{name}.evaluate", "evaluate"),
    )


_LAYER = "keras.src.layers.layer"
_MODEL = "keras.src.models.model"
_TRAINER = "keras.src.trainers.trainer"
_OPTIMIZER = "keras.src.optimizers.base_optimizer"


def library(context: HookContext) -> Library:
    """The table of Keras."""
    hooks = TrainerHooks(context)
    loss = timed(context, "learn.loss", unless=("compile", "learn.loss"))
    return Library(
        title="Keras",
        distribution="keras",
        setup=lambda: hooks.detach,
        targets=(
            *_trainer(hooks, "keras.src.backend.tensorflow.trainer", "TensorFlowTrainer"),
            *_trainer(hooks, "keras.src.backend.torch.trainer", "TorchTrainer"),
            *_trainer(hooks, "keras.src.backend.jax.trainer", "JAXTrainer"),
            Target(_LAYER, "Layer.__call__", "learn.forward", wrapper=hooks.call),
            Target(_TRAINER, "Trainer._compute_loss", "learn.loss", wrapper=loss),
            Target(_OPTIMIZER, "BaseOptimizer.apply", "learn.optimizer", wrapper=hooks.apply),
            once(_LAYER, "Layer.get_weights", "transfer", hooks.weights_read),
            once(_LAYER, "Layer.set_weights", "transfer", hooks.weights_written),
            once(_MODEL, "Model.save", "checkpoint"),
            once(_MODEL, "Model.save_weights", "checkpoint"),
            once(_MODEL, "Model.load_weights", "checkpoint"),
        ),
    )
