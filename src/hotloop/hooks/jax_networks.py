"""Flax and Optax where no `jax.jit` of the program's own is around them."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from hotloop import get_profiler
from hotloop.hooks.jitted import calling
from hotloop.hooks.networks import WHOLE, call_network, rows_of
from hotloop.hooks.plain_loop import OPTIMIZER, flow

_profiler = get_profiler()
_profiler.categories.setdefault("flax.nnx", "Model")
_core = _profiler.core
_is_open = _core.is_open
_nnx = _core.region("flax.nnx")
_own = threading.local()


def time_apply(original: Callable[..., Any]) -> Callable[..., Any]:
    """A network of Flax that is called as it is."""

    @functools.wraps(original)
    def apply(self: Any, variables: Any, *args: Any, **kwargs: Any) -> Any:
        if not args or not flow.envs or _is_open(*WHOLE):
            return original(self, variables, *args, **kwargs)
        rows = rows_of(args[0])
        return call_network(self, False, rows, original, (self, variables, *args), kwargs)

    return apply


def time_nnx(original: Callable[..., Any]) -> Callable[..., Any]:
    """What `nnx.jit` does around a jitted call: objects are taken apart and put together again.

    That is a phase of its own, so the order of events is told of the call when all of it is over.
    """

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _core.enabled or _is_open("compile") or getattr(_own, "later", None) is not None:
            return original(self, *args, **kwargs)
        later: list[Callable[[], None]] = []
        _own.later = later
        _nnx.enter()
        try:
            return original(self, *args, **kwargs)
        finally:
            _nnx.exit()
            _own.later = None
            for tell in later:
                tell()

    return call


def tell_when_over(tell: Callable[[], None]) -> None:
    """Tell the order of events of a jitted call: now, or when what is around it is over."""
    later: list[Callable[[], None]] | None = getattr(_own, "later", None)
    if later is None:
        tell()
    else:
        later.append(tell)


def time_optimizer(original: Callable[..., Any]) -> Callable[..., Any]:
    """The last step of an update that is written out; the gap before it is the optimizer too."""
    timed = _core.region("learn.optimizer").wrap(original)

    @functools.wraps(original)
    def step(*args: Any, **kwargs: Any) -> Any:
        if calling() or _is_open("compile", "learn.backward", "learn.optimizer"):
            return original(*args, **kwargs)
        result = timed(*args, **kwargs)
        flow.happened(OPTIMIZER)
        return result

    return step
