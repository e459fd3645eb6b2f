"""Calls of networks that are not torch modules: Keras models, compiled functions.

The order of events decides whether a call acts or learns, and batch sizes are counted by the same
rules as for torch: see `measure/native/calls.c` and `measure/native/updates.c`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hotloop.capture.schema import INFERENCE_ROWS
from hotloop.hooks.inference.events import ACT, BACKWARD, FORWARD, INFERENCE, OPTIMIZER
from hotloop.hooks.protocols import Foreign, Function

if TYPE_CHECKING:
    from hotloop.hooks.context import HookContext

#: Inside one of these, a network's call is a part of it. A loss is not among them: what is
#: computed under a gradient tape is the loss, and the network's call inside it is separated.
WHOLE = ("policy.act", "learn.forward", "learn.backward", "advantage", "compile")


class NetworkCalls:
    """Times calls of networks in their phases."""

    def __init__(self, context: HookContext) -> None:
        self._context = context
        self._core = core = context.core
        self._flow, self._updates = context.flow, context.updates
        self._forward = core.region("learn.forward")
        self._regions = {ACT: core.region("policy.act"), INFERENCE: core.region("inference")}
        self._learn = core.region("learn")

    def call(
        self,
        who: object,
        gradients: bool,
        batch_size: int,
        call: Function,
        args: Foreign,
        kwargs: Foreign,
    ) -> object:
        """One call of a network, in its phase."""
        guard = self._context.guard
        what = "what a network is called for"
        kind = guard(what, self._flow.purpose, id(who), gradients, batch_size) or FORWARD
        region = self._regions.get(kind, self._forward)
        if gradients and kind == FORWARD:
            self._updates.forward(id(who), batch_size)
        if kind == INFERENCE:
            self._core.count(INFERENCE_ROWS, max(batch_size, 0))
        region.enter()
        try:
            result = call(*args, **kwargs)
        finally:
            region.exit()
        guard("a network's call", self._flow.happened, kind)
        return result

    def call_learning(
        self, call: Function, args: Foreign, kwargs: Foreign, phase: str = "learn.step"
    ) -> object:
        """One opaque call that learns, inside `learn`."""
        inside = self._core.region(phase).wrap(call)
        if not self._core.is_open("learn"):
            inside = self._learn.wrap(inside)
        return inside(*args, **kwargs)

    def learned(self, optimizer: int, batch_size: int) -> None:
        """A gradient step inside an opaque call has ended."""
        self._updates.batch_size = batch_size
        self._updates.optimizer(optimizer)

    def update_is_over(self) -> None:
        """Record the event that an opaque call has learned."""
        self._flow.happened(BACKWARD)
        self._flow.happened(OPTIMIZER)


def batch_size_of(value: Foreign) -> int:
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


#: Rows of a batch whose rows cannot be counted: more than any network sees.
UNCOUNTED = 1 << 40


def rows_of_batch(batch: Foreign) -> int:
    """Rows of what was drawn from a buffer: its smallest array has one number for each.

    Batches of sequences have rewards for every step of each.
    """
    parts = batch.values() if isinstance(batch, dict) else batch
    if not isinstance(batch, (dict, list, tuple)):
        return UNCOUNTED
    # An object of the program's own may call anything its shape.
    shapes = [getattr(part, "shape", None) for part in parts]
    known = [shape for shape in shapes if isinstance(shape, tuple) and shape]
    leading = {shape[0] for shape in known}
    return min(math.prod(shape) for shape in known) if len(leading) == 1 else UNCOUNTED


def tensor_batch_size(values: tuple[Foreign, ...]) -> int:
    """The batch size of a torch module's arguments: the first dimension of the first tensor."""
    for value in values:
        while isinstance(value, (dict, list, tuple)) and value:
            value = next(iter(value.values())) if isinstance(value, dict) else value[0]
        shape = getattr(value, "shape", None)
        if shape is not None:
            # A symbol of torch's exporters must not be turned into a number.
            return (shape[0] or 1) if len(shape) > 1 and type(shape[0]) is int else 1
    return 1


def first_batch_size(args: tuple[Foreign, ...], kwargs: dict[str, Foreign]) -> int:
    """Rows of the first argument that is an array."""
    for value in (*args, *kwargs.values()):
        batch_size = batch_size_of(value)
        if batch_size:
            return batch_size
    return 0
