"""The events of a training loop, and the object that follows their order.

The native module follows the order (`EventOrder` in `measure/native/events.c`). It infers the phase
between two events and the purpose of each network call; there is no second implementation. Without
the native module, `NoEvents` takes its place: regions and library tables work, and nothing is
inferred.
"""

from __future__ import annotations

from hotloop.measure.core import NATIVE

#: What can happen, in the order of a training loop. PREPARE: gradients are set to zero or clipped.
#: INFERENCE: a network was called without gradients, for an unknown purpose.
#: SCORE, REFERENCE: a language model judged completions, the one that wrote them or the one that it
#: is compared with.
#: The native module exports the same numbers; a test compares them.
EVENTS = 11
STEP, ADD, SAMPLE, ACT, FORWARD, BACKWARD, OPTIMIZER, PREPARE, INFERENCE, SCORE, REFERENCE = range(
    EVENTS
)
#: Instead of an event, for the result of a network inside a phase that chooses an action.
ACT_INSIDE = -1

#: The remark if phases cannot be inferred.
NEEDS_NATIVE = (
    "Phases between the calls of libraries, gradient steps, batch sizes and transfers are not "
    "inferred: that needs hotloop's native module."
)


def remarks() -> list[str]:
    """Remarks for the report."""
    return [] if NATIVE else [NEEDS_NATIVE]


class NoEvents:
    """Stands in for the native `EventOrder`: counts environments and infers nothing."""

    thread = steps = steps_before = known_batch_size = drawn_rows = actors = 0
    last = STEP
    active = off_policy = is_table = loss_is_named = False

    def __init__(self) -> None:
        self.envs = 0

    def happened(self, event: int) -> None:
        """An event has ended; a gap follows until the next event."""

    def stepped(self, envs: int) -> None:
        """That many environments were stepped once, together."""
        self.envs = envs

    def prepared(self, *_: object, **__: object) -> None:
        """Gradients were set to zero or clipped: a note after such a function."""

    def purpose(self, network: int, gradients: bool, batch_size: int) -> int:
        """FORWARD or INFERENCE: gradients alone decide."""
        return FORWARD if gradients else INFERENCE

    def collected(self) -> int:
        """Environment steps that the update in progress learns from: unknown."""
        return 0

    def learn_inline(self, is_table: bool) -> None:
        """The program learns in a table of values between two steps."""

    def forget_names(self) -> None:
        """Forget the names of gaps."""
