"""Calls of networks that are not torch modules: Keras models, functions that were compiled.

What a call is for (to act or to learn) is told by the order of events, as for torch (`plain_loop`),
and the rows that go through optimizers are counted by the same rules (`batch`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hotloop import get_profiler
from hotloop.hooks.batch import batch
from hotloop.hooks.plain_loop import ACT, BACKWARD, FORWARD, OPTIMIZER, flow

_core = get_profiler().core
_is_open = _core.is_open
_act = _core.region("policy.act")
_forward = _core.region("learn.forward")
_learn = _core.region("learn")
_step = _core.region("learn.step")

#: Inside one of these, a network's call is a part of it. A loss is not among them: what is
#: computed under a gradient tape is the loss, and the network's call inside it is told apart.
WHOLE = ("policy.act", "learn.forward", "learn.backward", "advantage", "compile")


def call_network(
    who: Any, gradients: bool, rows: int, call: Callable[..., Any], args: Any, kwargs: Any
) -> Any:
    """One call of a network, in the phase that it is for."""
    if flow.purpose(id(who), gradients, rows) == ACT:
        region, kind = _act, ACT
    else:
        region, kind = _forward, FORWARD
        if gradients:
            batch.forward(id(who), rows)
    region.enter()
    try:
        result = call(*args, **kwargs)
    finally:
        region.exit()
    flow.happened(kind)
    return result


def call_learning(call: Callable[..., Any], args: Any, kwargs: Any, inner: Any = _step) -> Any:
    """One call that learns and cannot be looked into, inside `learn`."""
    outer = None if _is_open("learn") else _learn
    if outer is not None:
        outer.enter()
    inner.enter()
    try:
        return call(*args, **kwargs)
    finally:
        inner.exit()
        if outer is not None:
            outer.exit()


def learned(optimizer: int, rows: int) -> None:
    """A gradient step inside something opaque is over."""
    batch.told = rows
    batch.optimizer(optimizer)


def update_is_over() -> None:
    """Tell the order of events that something opaque has learned."""
    flow.happened(BACKWARD)
    flow.happened(OPTIMIZER)


def rows_of(value: Any) -> int:
    """The first dimension of the first array in something nested; 0 if there is none."""
    for _ in range(8):
        if isinstance(value, dict):
            value = next(iter(value.values()), None)
        elif isinstance(value, (list, tuple)) and value and not isinstance(value[0], (int, float)):
            value = value[0]
        else:
            break
    shape = getattr(value, "shape", None)
    if shape is None:
        return len(value) if isinstance(value, (list, tuple)) else 0
    try:
        return int(shape[0]) if len(shape) > 1 else 1
    except (TypeError, ValueError, IndexError):
        return 0  # a shape that is not known yet


def first_rows(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Rows of the first argument that is an array."""
    for value in (*args, *kwargs.values()):
        rows = rows_of(value)
        if rows:
            return rows
    return 0
