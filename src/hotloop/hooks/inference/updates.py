"""Gradient steps and their batch sizes: the native module counts them (`measure/native/updates.c`).

Without it `NoUpdates` takes its place, and neither is counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotloop.capture import schema
from hotloop.hooks.inference.events import BACKWARD
from hotloop.hooks.inference.optimizer_names import counters_of
from hotloop.hooks.protocols import Foreign, Updates
from hotloop.measure.core import native_constant

if TYPE_CHECKING:
    from hotloop.hooks.context import HookContext

#: One loss in this many is shown to watchers.
SHOWN_LOSSES = native_constant("SHOWN_LOSSES", 1)


class NoUpdates:
    """Stands in for the native `Updates`: every note is accepted and nothing is counted."""

    batch_size = 0

    def _note(self, *_: object, **__: object) -> None:
        """A note after a function."""

    forward = backward = optimizer = _note
    after_backward = after_step = after_forward = _note
    after_rollout = after_sample = after_minibatch = _note


def updates_of(context: HookContext) -> Updates:
    """The updates of one run."""
    flow = context.flow
    if flow.native is None:
        return NoUpdates()

    def show_loss(loss: object) -> None:
        for watch in context.output_watchers:
            watch(BACKWARD, loss)

    def show_buffer(buffer: Foreign) -> None:
        context.profiler.gauges[schema.BUFFER_LENGTH] = buffer.size()
        context.environments.buffers.used(buffer)

    updates: Updates = flow.native.Updates(flow.order, show_loss, show_buffer, counters_of)
    return updates
