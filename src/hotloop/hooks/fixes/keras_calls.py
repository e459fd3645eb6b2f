"""Fixes in how a program calls Keras and TensorFlow."""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import Any

from hotloop.hooks.fixes.runtime import Applied, RuntimeFix
from hotloop.hooks.protocols import Function

#: `predict` splits its input into batches; up to this size one call of the model does the same.
_ONE_BATCH = 1024


def _model_call(applied: Applied, keras: ModuleType) -> None:
    """`model(x)` for `model.predict(x)`: no data pipeline around each call."""

    def predict(original: Function, self: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        small = bool(getattr(x, "shape", ())) and 0 < len(x) <= _ONE_BATCH
        if not small or args or set(kwargs) - {"verbose", "batch_size", "steps"}:
            return original(self, x, *args, **kwargs)
        applied.took_effect()
        result = self(x, training=False)
        return keras.tree.map_structure(keras.ops.convert_to_numpy, result)

    # The backend's trainer defines it; `Model` only inherits.
    for owner in keras.Model.__mro__:
        if "predict" in vars(owner):
            applied.instead(owner, "predict", predict)


def _tensor_arguments(applied: Applied, tensorflow: ModuleType) -> None:
    """Python floats become tensors before a `tf.function` is called: one trace for all of them."""

    def converted(value: object) -> object:
        if type(value) is not float:
            return value
        applied.took_effect()
        return tensorflow.constant(value, tensorflow.float32)

    def converting(function: Any) -> Any:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            kwargs = {name: converted(value) for name, value in kwargs.items()}
            return function(*[converted(value) for value in args], **kwargs)

        return call

    original = tensorflow.function

    @functools.wraps(original)
    def traced(func: object = None, *args: object, **kwargs: object) -> object:
        if func is None:
            return lambda function: traced(function, *args, **kwargs)
        if _is_library(func):
            return original(func, *args, **kwargs)
        return converting(original(func, *args, **kwargs))

    applied.substitute(tensorflow, "function", traced)


def _is_library(function: object) -> bool:
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    return "site-packages" in (getattr(module, "__file__", None) or "")


FIXES = {
    "model-call": RuntimeFix(_model_call, ("keras",)),
    "tensor-arguments": RuntimeFix(_tensor_arguments, ("tensorflow",)),
}
