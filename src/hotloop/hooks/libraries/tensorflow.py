"""TensorFlow: tracing, compiled functions, gradients, and what is read back from tensors.

A `tf.function` is opaque once it is traced. The calls in its trace (an optimizer, a gradient, a
network) decide whether it is an update or a network that acts. Hooks that run during a trace only
note these calls; the trace itself is `compile`.
"""

from __future__ import annotations

import functools
import sys
import threading
from types import CodeType
from weakref import WeakKeyDictionary

from hotloop.capture import schema
from hotloop.hooks.context import HookContext
from hotloop.hooks.inference.events import BACKWARD
from hotloop.hooks.inference.networks import WHOLE, first_batch_size
from hotloop.hooks.inference.traces import Traced
from hotloop.hooks.library import Library, Target, once
from hotloop.hooks.protocols import Foreign, Function, Region
from hotloop.hooks.wrapping import dispatch, observe

#: Inside one of these a compiled function is a part of what a table has named already.
_PARTS = (*WHOLE, "learn.step", "env.step", "data", "log", "checkpoint")

#: A line of the program.
Where = tuple[CodeType, int]


class _TraceDepth(threading.local):
    """How many traces a thread is in."""

    traces = 0


class FunctionHooks:
    """Hooks of compiled functions and gradient tapes for one run."""

    def __init__(self, context: HookContext) -> None:
        self._context = context
        self._core = core = context.core
        self._networks, self._traces = context.networks, context.traces
        self._loss = core.region("learn.loss")
        self._compile = core.region("compile")
        self._backward = core.region("learn.backward")
        self._depth = _TraceDepth()
        self._traced: WeakKeyDictionary[Foreign, Traced] = WeakKeyDictionary()
        #: Tapes whose `learn.loss` is open: their start, and the steps by then.
        self._recording: WeakKeyDictionary[Foreign, tuple[Where, int]] = WeakKeyDictionary()
        #: Where tapes begin that record whole episodes: acting, stepping, and a loss at the end.
        self._episodes: set[Where] = set()

    # -- compiled functions --

    def trace(self, original: Function) -> Function:
        """One trace of a function."""
        inside = self._compile.wrap(original)
        depth = self._depth

        @functools.wraps(original)
        def create(*args: Foreign, **kwargs: Foreign) -> object:
            if not depth.traces:  # a function that is called while another is traced is part of it
                self._context.guard("TensorFlow: a trace", self._count_trace, args, kwargs)
            depth.traces += 1
            try:
                return inside(*args, **kwargs)
            finally:
                depth.traces -= 1

        return create

    def _count_trace(self, args: Foreign, kwargs: Foreign) -> None:
        options = args[3] if len(args) > 3 else kwargs.get("tracing_options")
        self._core.count(schema.TRACES, 1)
        if _size(getattr(options, "function_cache", None)):
            self._core.count(schema.RETRACES, 1)

    def function(self, original: Function) -> Function:
        """`Function.__call__`: a call of a compiled function."""
        core = self._core

        @functools.wraps(original)
        def call(function: Foreign, *args: Foreign, **kwargs: Foreign) -> object:
            if not core.enabled or core.is_open(*_PARTS) or function._run_functions_eagerly:
                return original(function, *args, **kwargs)
            about = self._traced.get(function)
            whole = (function, *args)
            if about is None:
                return self._first_call(original, whole, kwargs)
            if about.optimizers or about.gradients:
                with self._traces.calling(about):
                    result = self._networks.call_learning(original, whole, kwargs)
                self._context.guard("TensorFlow: an update", self._learned, about, args, kwargs)
                return result
            if about.networks:
                rows = first_batch_size(args, kwargs)
                return self._networks.call(function, False, rows, original, whole, kwargs)
            return original(function, *args, **kwargs)

        return call

    def _first_call(self, original: Function, args: Foreign, kwargs: Foreign) -> object:
        """A first call traces it, optimizes its graph and runs it once: all of it is `compile`."""
        about = Traced()
        with self._traces.calling(about):
            result = self._compile.wrap(original)(*args, **kwargs)
        self._traced[args[0]] = about
        self._context.guard("TensorFlow: an update", self._learned, about, args[1:], kwargs)
        return result

    def _learned(self, about: Traced, args: Foreign, kwargs: Foreign) -> None:
        for optimizer in about.optimizers:
            self._networks.learned(optimizer, first_batch_size(args, kwargs))
        if about.optimizers:
            self._networks.update_is_over()

    # -- gradients --

    def gradient(self, original: Function) -> Function:
        """`GradientTape.gradient` and `jacobian`."""
        is_open = self._core.is_open

        def choose(tape: object, *_: object, **__: object) -> Region | None:
            if is_open("compile", "learn.backward"):
                self._traces.note_gradient()
                return None
            self._end_loss(tape)
            return self._backward

        def after(*_: object, **__: object) -> None:
            self._context.updates.backward()
            self._context.order.happened(BACKWARD)

        return dispatch(self._context, choose, after)(original)

    def begin_tape(self, original: Function) -> Function:
        """Computations under a tape are the loss: a gradient will be taken of them."""

        def begin(result: object, tape: Foreign) -> None:
            if self._core.enabled and not self._core.is_open("compile", "learn.loss"):
                caller = sys._getframe(_TAPE_DEPTH)
                where = (caller.f_code, caller.f_lineno)
                if where not in self._episodes:
                    self._recording[tape] = where, self._context.order.steps
                    self._loss.enter()

        return observe(self._context, begin)(original)

    def end_tape(self, original: Function) -> Function:
        """`GradientTape.__exit__`."""

        def end(tape: object, *_: object) -> None:
            self._end_loss(tape)

        return observe(self._context, before=end)(original)

    def _end_loss(self, tape: Foreign) -> None:
        """The `learn.loss` of a tape is over, if there is one."""
        begun = self._recording.pop(tape, None)
        if begun is not None:
            where, steps = begun
            if self._context.order.steps > steps:
                self._episodes.add(where)
            self._loss.exit()

    # -- reads --

    def count_read(self, result: object, *_: object) -> None:
        """A tensor's value was read."""
        self._core.count(schema.TRANSFERS, 1)
        self._core.count(schema.TRANSFER_BYTES, getattr(result, "nbytes", 8))


#: Frames from the note of a tape's `__enter__` to its caller: the guard and the hook.
_TAPE_DEPTH = 3


def _size(cache: Foreign) -> int:
    try:
        return len(cache)
    except TypeError:
        return 0


_OPS = "tensorflow.python.framework.ops"
_EAGER = "tensorflow.python.eager"
_FUNCTION = f"{_EAGER}.polymorphic_function"


def library(context: HookContext) -> Library:
    """The table of TensorFlow."""
    hooks = FunctionHooks(context)
    return Library(
        title="TensorFlow",
        distribution="tensorflow",
        targets=(
            # A `tf.data` pipeline works in threads of TensorFlow's own.
            once("tensorflow.python.data.ops.iterator_ops", "OwnedIterator.__next__", "data.wait"),
            Target(
                f"{_FUNCTION}.tracing_compilation",
                "_create_concrete_function",
                "compile",
                wrapper=hooks.trace,
            ),
            Target(
                f"{_FUNCTION}.polymorphic_function",
                "Function.__call__",
                "learn.step",
                wrapper=hooks.function,
            ),
            Target(
                f"{_EAGER}.backprop",
                "GradientTape.__enter__",
                "learn.loss",
                wrapper=hooks.begin_tape,
            ),
            Target(
                f"{_EAGER}.backprop", "GradientTape.__exit__", "learn.loss", wrapper=hooks.end_tape
            ),
            Target(
                f"{_EAGER}.backprop",
                "GradientTape.gradient",
                "learn.backward",
                wrapper=hooks.gradient,
            ),
            Target(
                f"{_EAGER}.backprop",
                "GradientTape.jacobian",
                "learn.backward",
                wrapper=hooks.gradient,
            ),
            once(_OPS, "_EagerTensorBase.numpy", "transfer", after=hooks.count_read),
            once(_OPS, "_EagerTensorBase.__array__", "transfer", after=hooks.count_read),
            once(_OPS, "_EagerTensorBase.__int__", "transfer", after=hooks.count_read),
            once(_OPS, "_EagerTensorBase.__float__", "transfer", after=hooks.count_read),
            once(_OPS, "_EagerTensorBase.__bool__", "transfer", after=hooks.count_read),
            once("tensorflow.python.ops.summary_ops_v2", "write", "log"),
            once("tensorflow.python.ops.summary_ops_v2", "flush", "log"),
            once(
                "tensorflow.python.checkpoint.checkpoint_management",
                "CheckpointManager.save",
                "checkpoint",
            ),
        ),
    )
