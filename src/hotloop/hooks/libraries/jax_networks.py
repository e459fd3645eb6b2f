"""Flax and Optax calls outside any `jax.jit` of the program."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable

from hotloop.hooks.context import HookContext
from hotloop.hooks.inference.events import OPTIMIZER
from hotloop.hooks.inference.networks import WHOLE, batch_size_of
from hotloop.hooks.protocols import Foreign, Function
from hotloop.hooks.wrapping import timed


class _Later(threading.local):
    """Events of jitted calls that a thread records when the call around them is over."""

    events: list[Callable[[], None]] | None = None


class FlaxHooks:
    """Hooks of Flax and Optax for one run."""

    def __init__(self, context: HookContext) -> None:
        self._context = context
        self._core = context.core
        self._later = _Later()

    def apply(self, original: Function) -> Function:
        """A network of Flax that is called directly."""
        networks, order, is_open = self._context.networks, self._context.order, self._core.is_open

        @functools.wraps(original)
        def apply(module: Foreign, variables: Foreign, *args: Foreign, **kwargs: Foreign) -> object:
            if not args or not order.envs or is_open(*WHOLE):
                return original(module, variables, *args, **kwargs)
            whole = (module, variables, *args)
            return networks.call(module, False, batch_size_of(args[0]), original, whole, kwargs)

        return apply

    def nnx(self, original: Function) -> Function:
        """What `nnx.jit` does around a jitted call: objects are split and merged again.

        That is a phase of its own, so the events of the call are recorded when all of it is over.
        """
        core, later = self._core, self._later
        inside = core.region("flax.nnx").wrap(original)

        @functools.wraps(original)
        def call(*args: object, **kwargs: object) -> object:
            if not core.enabled or core.is_open("compile") or later.events is not None:
                return original(*args, **kwargs)
            events: list[Callable[[], None]] = []
            later.events = events
            try:
                return inside(*args, **kwargs)
            finally:
                later.events = None
                for record in events:
                    self._context.guard("JAX: a jitted call", record)

        return call

    def record_when_over(self, record: Callable[[], None]) -> None:
        """Record the events of a jitted call: now, or when the call around it is over."""
        if self._later.events is None:
            record()
        else:
            self._later.events.append(record)

    def optimizer(self, original: Function) -> Function:
        """The last step of an update written out; the gap before it is the optimizer too."""
        context, is_open = self._context, self._core.is_open

        def is_part(*_: object, **__: object) -> bool:
            traced = bool(context.jitted.stack)
            return traced or is_open("compile", "learn.backward", "learn.optimizer")

        def after(*_: object, **__: object) -> None:
            context.order.happened(OPTIMIZER)

        return timed(context, "learn.optimizer", is_part, after)(original)
