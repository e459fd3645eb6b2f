"""Facts of Keras: how often `predict` is called and for how many rows, and how large models are."""

from __future__ import annotations

import functools
import sys
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hotloop.hooks.networks import first_rows

if TYPE_CHECKING:
    from hotloop.hooks.facts import Facts

_TRAINERS = (
    ("keras.src.backend.tensorflow.trainer", "TensorFlowTrainer"),
    ("keras.src.backend.torch.trainer", "TorchTrainer"),
    ("keras.src.backend.jax.trainer", "JAXTrainer"),
)


def put_on(facts: Facts) -> None:
    """Time `predict` as a whole, and learn of every optimizer as it is built."""
    for module, name in _TRAINERS:
        trainer = getattr(sys.modules.get(module), name, None)
        if trainer is not None and "predict" in vars(trainer):
            facts.add(undo=_replace(trainer, "predict", functools.partial(_time_predict, facts)))
    base = getattr(sys.modules.get("keras.src.optimizers.base_optimizer"), "BaseOptimizer", None)
    if base is not None and "build" in vars(base):
        models = Models()
        facts.add(notes=models.notes, undo=_replace(base, "build", models.wrap_build))


def _replace(owner: Any, name: str, wrapper: Callable[[Any], Any]) -> Callable[[], None]:
    original = vars(owner)[name]
    setattr(owner, name, wrapper(original))
    return lambda: setattr(owner, name, original)


def _time_predict(facts: Facts, original: Callable[..., Any]) -> Callable[..., Any]:
    """A call takes milliseconds: timing it twice costs nothing."""
    clock = time.perf_counter
    count = facts.count

    @functools.wraps(original)
    def predict(self: Any, *args: Any, **kwargs: Any) -> Any:
        begin = clock()
        try:
            return original(self, *args, **kwargs)
        finally:
            count("predict_s", clock() - begin)
            count("predict_calls", 1)
            count("predict_rows", max(first_rows(args, kwargs), 1))
            facts.places.note("predict")

    return predict


class Models:
    """How many parameters the optimizers of a program train."""

    def __init__(self) -> None:
        self._optimizers: list[weakref.ref[Any]] = []
        self._known: list[dict[str, Any]] = []

    def wrap_build(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def build(optimizer: Any, variables: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(optimizer, variables, *args, **kwargs)
            if not any(ref() is optimizer for ref in self._optimizers):
                self._optimizers.append(weakref.ref(optimizer))
                self._known.append(_describe(optimizer, list(variables)))
            return result

        return build

    def notes(self) -> dict[str, Any]:
        return {"keras_networks": list(self._known)} if self._known else {}


def _describe(optimizer: Any, variables: list[Any]) -> dict[str, Any]:
    sizes = [_size(variable.shape) for variable in variables]
    return {
        "library": "keras",
        "optimizer": type(optimizer).__name__,
        "parameters": sum(sizes),
        "tensors": len(sizes),
        "convolutions": sum(len(variable.shape) >= 4 for variable in variables),
    }


def _size(shape: Any) -> int:
    size = 1
    for length in shape:
        size *= int(length)
    return size
