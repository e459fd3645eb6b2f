"""JAX functions that take gradients, and those that compile to loops."""

from __future__ import annotations

import functools
import threading
from types import FunctionType

from hotloop.hooks.context import HookContext
from hotloop.hooks.inference.jitted import Jitted
from hotloop.hooks.inference.networks import batch_size_of
from hotloop.hooks.libraries.jax_batches import batch_argument
from hotloop.hooks.protocols import Foreign, Function
from hotloop.hooks.redirect import is_really


def _nothing() -> None:
    return None


class _Nesting(threading.local):
    """Gradients and compiled loops that a thread is in while it traces."""

    gradient = loop = 0


class GradientHooks:
    """Hooks of `jax.grad` and of what compiles to loops, for one run."""

    def __init__(self, context: HookContext) -> None:
        self._context = context
        self._networks = context.networks
        self._depth = _Nesting()

    def transform(self, original: Function) -> Function:
        """`jax.grad` and `jax.value_and_grad`: their results take gradients when called."""

        @functools.wraps(original)
        def transform(*args: object, **kwargs: object) -> object:
            return self._gradient(original(*args, **kwargs))

        return transform

    def _gradient(self, function: Function) -> Function:
        if not is_really(function, FunctionType):
            return self._timed(function)  # a change of JAX's
        # A program may make such a function in every step: its hook must not keep it alive.
        detach = self._context.core.attach(function, self._timed, True)
        gradient: Function = function if detach is not None else self._timed(function)
        self._context.jitted.mark_gradient(gradient, detach or _nothing)
        return gradient

    def _timed(self, function: Function) -> Function:
        context, is_open = self._context, self._context.core.is_open
        backward = context.core.region("learn.backward").wrap(function, after=self._after)

        @functools.wraps(function)
        def gradient(*args: object, **kwargs: object) -> object:
            stack = context.jitted.stack
            if stack:
                self._note(stack[-1])
                return self._nested(function, args, kwargs)
            if is_open("learn.backward", "compile"):
                return function(*args, **kwargs)
            return backward(*args, **kwargs)

        return gradient

    def _after(self, result: object, *args: Foreign, **kwargs: object) -> None:
        rows = batch_size_of(args[index]) if (index := batch_argument(args)) >= 0 else 0
        compare_with_collected(self._context, rows)
        self._networks.learned(0, rows)
        self._networks.update_is_over()

    def _note(self, about: Jitted) -> None:
        if not self._depth.gradient:
            about.gradients += 1
            about.loops = about.loops or bool(self._depth.loop)

    def _nested(self, function: Function, args: Foreign, kwargs: Foreign) -> object:
        """A gradient of a gradient is a part of it."""
        self._depth.gradient += 1
        try:
            return function(*args, **kwargs)
        finally:
            self._depth.gradient -= 1

    def loop(self, original: Function) -> Function:
        """`lax.scan` and the like: code traced inside iterates in compiled code."""
        depth, context = self._depth, self._context
        is_open = context.core.is_open
        update = context.core.region("learn.step").wrap(original, outermost=True)

        @functools.wraps(original)
        def loop(*args: object, **kwargs: object) -> object:
            # Compiled and called at once in a library's update, it is what learns there.
            traced = context.jitted.stack or is_open("compile")
            call = update if is_open("learn") and not traced else original
            depth.loop += 1
            try:
                return call(*args, **kwargs)
            finally:
                depth.loop -= 1

        return loop


def compare_with_collected(context: HookContext, rows: int) -> None:
    """Batches that are larger than what was collected for them are from a replay buffer.

    Not where episodes are padded to equal length before they are learned from: then the number of
    steps between updates differs each time.
    """
    order = context.order
    if rows and order.steps:
        order.off_policy = order.steps == order.steps_before and rows > order.steps * order.envs
