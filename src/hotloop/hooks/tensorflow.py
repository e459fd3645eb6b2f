"""TensorFlow: tracing, compiled functions, gradients, and what is read back from tensors.

A `tf.function` is opaque once it is traced. What its trace went through (an optimizer, a gradient,
a network) says what its calls are: an update, or a network that acts. Hooks that run while a
function is traced only note that; the trace itself is `compile`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

from hotloop import get_profiler
from hotloop.hooks.batch import batch
from hotloop.hooks.networks import (
    WHOLE,
    call_learning,
    call_network,
    first_rows,
    learned,
    update_is_over,
)
from hotloop.hooks.plain_loop import BACKWARD, flow
from hotloop.hooks.standin import unwrapped
from hotloop.hooks.table import Library, Place

_profiler = get_profiler()
_core = _profiler.core
_count = _core.count
_is_open = _core.is_open
_compile = _core.region("compile")
_backward = _core.region("learn.backward")
_loss = _core.region("learn.loss")

#: Inside one of these a compiled function is a part of what a table has named already.
_PARTS = (*WHOLE, "learn.step", "env.step", "data", "log", "checkpoint")


#: A line of the program.
Where = tuple[CodeType, int]


class Traced:
    """What the traces of one function went through."""

    def __init__(self) -> None:
        self.optimizers: list[int] = []
        self.gradients = False
        self.networks = False


_traced: WeakKeyDictionary[Any, Traced] = WeakKeyDictionary()
_calling: list[Traced] = []


def note_optimizer(optimizer: int) -> None:
    """An optimizer was applied while a function is traced."""
    if _calling and optimizer not in _calling[-1].optimizers:
        _calling[-1].optimizers.append(optimizer)


def note_network() -> None:
    """A network was called while a function is traced."""
    if _calling:
        _calling[-1].networks = True


def _time_trace(original: Callable[..., Any]) -> Callable[..., Any]:
    depth = 0

    @functools.wraps(original)
    def create(*args: Any, **kwargs: Any) -> Any:
        nonlocal depth
        if not depth:  # a function that is called while another is traced is a part of it
            options = args[3] if len(args) > 3 else kwargs.get("tracing_options")
            _count("traces", 1)
            if _size(getattr(options, "function_cache", None)):
                _count("retraces", 1)
        depth += 1
        _compile.enter()
        try:
            return original(*args, **kwargs)
        finally:
            _compile.exit()
            depth -= 1

    return create


def _size(cache: Any) -> int:
    try:
        return len(cache)
    except TypeError:
        return 0


def _time_function(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _core.enabled or _is_open(*_PARTS) or self._run_functions_eagerly:
            return original(self, *args, **kwargs)
        about = _traced.get(self)
        if about is None:
            return first_call(self, args, kwargs)
        if about.optimizers or about.gradients:
            _calling.append(about)
            try:
                result = call_learning(original, (self, *args), kwargs)
            finally:
                _calling.pop()
            after_learning(about, args, kwargs)
            return result
        if about.networks:
            rows = first_rows(args, kwargs)
            return call_network(self, False, rows, original, (self, *args), kwargs)
        return original(self, *args, **kwargs)

    def first_call(self: Any, args: Any, kwargs: Any) -> Any:
        # It is traced, its graph is optimised, and it runs once: all that is compiling.
        about = Traced()
        _calling.append(about)
        _compile.enter()
        try:
            result = original(self, *args, **kwargs)
        finally:
            _compile.exit()
            _calling.pop()
        _traced[self] = about
        after_learning(about, args, kwargs)
        return result

    def after_learning(about: Traced, args: Any, kwargs: Any) -> None:
        for optimizer in about.optimizers:
            learned(optimizer, first_rows(args, kwargs))
        if about.optimizers:
            update_is_over()

    return call


def _time_gradient(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        if _is_open("compile", "learn.backward"):
            if _calling:
                _calling[-1].gradients = True
            return original(*args, **kwargs)
        _end_loss(args[0])
        _backward.enter()
        try:
            result = original(*args, **kwargs)
        finally:
            _backward.exit()
        batch.backward()
        flow.happened(BACKWARD)
        return result

    return gradient


#: Tapes whose recording is a `learn.loss` that is open: where they began, and the steps by then.
_recording: WeakKeyDictionary[Any, tuple[Where, int]] = WeakKeyDictionary()
#: Where tapes begin that record whole episodes: acting and stepping, and a loss only at their end.
_episodes: set[Where] = set()


def _begin_tape(original: Callable[..., Any]) -> Callable[..., Any]:
    """What is computed under a tape is what a gradient will be taken of: the loss."""

    @functools.wraps(original)
    def enter(self: Any) -> Any:
        result = original(self)
        if _core.enabled and not _is_open("compile", "learn.loss"):
            caller = sys._getframe(1)
            where = (caller.f_code, caller.f_lineno)
            if where not in _episodes:
                _recording[self] = where, flow.order.steps
                _loss.enter()
        return result

    return enter


def _end_loss(tape: Any) -> None:
    """The `learn.loss` of a tape is over, if there is one."""
    begun = _recording.pop(tape, None)
    if begun is not None:
        where, steps = begun
        if flow.order.steps > steps:
            _episodes.add(where)
        _loss.exit()


def _end_tape(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def leave(self: Any, *error: Any) -> Any:
        _end_loss(self)
        return original(self, *error)

    return leave


def _see_through(original: Callable[..., Any]) -> Callable[..., Any]:
    """AutoGraph rewrites a function from its source: give it the program's, not the stand-in."""

    @functools.wraps(original)
    def converted_call(f: Any, *args: Any, **kwargs: Any) -> Any:
        return original(unwrapped(f), *args, **kwargs)

    return converted_call


def _read(result: Any, *_: Any) -> None:
    _count("transfers", 1)
    _count("transfer_bytes", getattr(result, "nbytes", 8))


_OPS = "tensorflow.python.framework.ops"
_EAGER = "tensorflow.python.eager"
_FUNCTION = f"{_EAGER}.polymorphic_function"

LIBRARY = Library(
    title="TensorFlow",
    distribution="tensorflow",
    places=(
        Place(f"{_FUNCTION}.tracing_compilation", "_create_concrete_function", "compile",
              wrapper=_time_trace),
        Place(f"{_FUNCTION}.polymorphic_function", "Function.__call__", "learn.step",
              wrapper=_time_function),
        Place(f"{_EAGER}.backprop", "GradientTape.__enter__", "learn.loss", wrapper=_begin_tape),
        Place(f"{_EAGER}.backprop", "GradientTape.__exit__", "learn.loss", wrapper=_end_tape),
        Place(f"{_EAGER}.backprop", "GradientTape.gradient", "learn.backward",
              wrapper=_time_gradient),
        Place(f"{_EAGER}.backprop", "GradientTape.jacobian", "learn.backward",
              wrapper=_time_gradient),
        Place("tensorflow.python.autograph.impl.api", "converted_call", "compile",
              wrapper=_see_through),
        Place(_OPS, "_EagerTensorBase.numpy", "transfer", after=_read, outermost=True),
        Place(_OPS, "_EagerTensorBase.__array__", "transfer", after=_read, outermost=True),
        Place(_OPS, "_EagerTensorBase.__int__", "transfer", after=_read, outermost=True),
        Place(_OPS, "_EagerTensorBase.__float__", "transfer", after=_read, outermost=True),
        Place(_OPS, "_EagerTensorBase.__bool__", "transfer", after=_read, outermost=True),
        Place("tensorflow.python.ops.summary_ops_v2", "write", "log", outermost=True),
        Place("tensorflow.python.ops.summary_ops_v2", "flush", "log", outermost=True),
        Place("tensorflow.python.checkpoint.checkpoint_management", "CheckpointManager.save",
              "checkpoint", outermost=True),
    ),
)  # fmt: skip
