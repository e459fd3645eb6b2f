"""Names the gaps between the calls that hooks can see.

Single-file programs write their advantage, their loss and their storage inline, at module level, so
there is no function to put a region around. Two kinds of evidence name such a gap. For some, the
order of events is enough: the code between a network's learning call and the backward pass is the
loss, and the code between the policy's output and the environment step passes on the action. For
the others (`CANDIDATES`), the names in the code must show it; see `code_between`. An unidentified
gap is named after the two events, with its lines. The order also separates network calls that
choose an action from those that learn, which `torch.is_grad_enabled` alone does not.

The native `EventOrder` keeps the order and opens and closes the gaps; this module names them.
Inside a library's own `collect` or `learn`, whose tables name the rest, only the loss is inferred.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from hotloop.capture.schema import Notes
from hotloop.hooks.inference import code_between
from hotloop.hooks.inference.events import (
    ACT,
    ADD,
    BACKWARD,
    EVENTS,
    FORWARD,
    INFERENCE,
    OPTIMIZER,
    PREPARE,
    REFERENCE,
    SAMPLE,
    SCORE,
    STEP,
    NoEvents,
)
from hotloop.hooks.protocols import EventOrder, Foreign, Region
from hotloop.measure.core import native_parts
from hotloop.phases import GAP, UNIDENTIFIED

if TYPE_CHECKING:
    from hotloop.measure.profiler import Profiler

#: A gap's phase if the order of events is enough evidence, by the events before and after it.
DEDUCED: dict[tuple[int, int], str] = {
    # A buffer's own method ends it, or has begun it: a transition taken apart and stored.
    (STEP, ADD): "buffer.add",
    (ADD, ADD): "buffer.add",
    # An action is sampled from the network's output and brought to the environment.
    (ACT, ACT): "policy.act",
    (ACT, STEP): "policy.act",
    (ACT, ADD): "policy.act",
    # A batch was drawn and is brought into shape.
    (SAMPLE, SAMPLE): "buffer.sample",
    (SAMPLE, FORWARD): "buffer.sample",
    (SAMPLE, BACKWARD): "buffer.sample",
    (SAMPLE, PREPARE): "buffer.sample",
    # Everything between a network's output and the gradient of something made from it.
    (FORWARD, FORWARD): "learn.loss",
    (FORWARD, BACKWARD): "learn.loss",
    (FORWARD, PREPARE): "learn.loss",
    (PREPARE, BACKWARD): "learn.loss",
    (BACKWARD, BACKWARD): "learn.loss",
    # Gradients are changed by hand, several optimizers take their turns.
    (BACKWARD, OPTIMIZER): "learn.optimizer",
    (BACKWARD, PREPARE): "learn.optimizer",
    (PREPARE, PREPARE): "learn.optimizer",
    (PREPARE, OPTIMIZER): "learn.optimizer",
}

_STORED_OR_CHOSEN = ("buffer.add", "policy.act")
_MADE_INTO_A_BATCH = ("advantage", "buffer.sample")
_BATCH = ("buffer.sample",)
_AFTER_AN_UPDATE = ("learn.target", "policy.act")

#: What other gaps may be, if the code in them shows it; the first that it shows counts.
CANDIDATES: dict[tuple[int, int], tuple[str, ...]] = {
    (STEP, STEP): _STORED_OR_CHOSEN,
    (STEP, ACT): _STORED_OR_CHOSEN,
    (ADD, ACT): ("policy.act",),
    (ADD, STEP): ("policy.act",),
    **{
        (before, after): _MADE_INTO_A_BATCH
        for before in (STEP, ADD, ACT)
        for after in (SAMPLE, FORWARD, BACKWARD, PREPARE)
        if (before, after) != (ACT, SAMPLE)
    },
    # Values of a rollout, computed before anything was learned from it.
    (FORWARD, SAMPLE): _MADE_INTO_A_BATCH,
    (OPTIMIZER, FORWARD): ("learn.target", *_MADE_INTO_A_BATCH),
    (OPTIMIZER, PREPARE): ("learn.target", *_MADE_INTO_A_BATCH),
    (PREPARE, FORWARD): _MADE_INTO_A_BATCH,
    (PREPARE, SAMPLE): _BATCH,
    (OPTIMIZER, OPTIMIZER): ("learn.target",),
    (OPTIMIZER, SAMPLE): ("learn.target", "buffer.sample"),
    (OPTIMIZER, STEP): _AFTER_AN_UPDATE,
    (OPTIMIZER, ACT): _AFTER_AN_UPDATE,
    (OPTIMIZER, ADD): _AFTER_AN_UPDATE,
    # A language model's output becomes log-probabilities of the tokens.
    **{(SCORE, after): ("logprob.policy",) for after in range(EVENTS)},
    **{(REFERENCE, after): ("logprob.reference",) for after in range(EVENTS)},
}

#: Events as the name of a gap has them.
EVENT_NAMES = {
    STEP: "step",
    ADD: "store",
    SAMPLE: "sample",
    ACT: "act",
    FORWARD: "forward",
    BACKWARD: "backward",
    OPTIMIZER: "optimizer",
    PREPARE: "optimizer",
    INFERENCE: "inference",
    SCORE: "inference",
    REFERENCE: "inference",
}

#: Pieces of code to list for one gap: it begins in one function and ends in another.
MOST_RANGES = 4

#: Maximum number of gaps without code to search for again.
MOST_LOST = 64

#: Phases that hooks time themselves: a gap adds to what a call of these begins or ends with.
TIMED_BY_HOOKS = frozenset({"policy.act", "learn.optimizer", "logprob.policy", "logprob.reference"})

#: Libraries with gradients: if one is used, the order of events shows more.
GRADIENT_LIBRARIES = ("torch", "tensorflow", "keras", "jax")


def has_gradients() -> bool:
    """Whether a library with gradients is in use."""
    return any(name in sys.modules for name in GRADIENT_LIBRARIES)


def between(before: int, after: int) -> str:
    """The name of a gap that nothing identifies."""
    return f"{GAP}{EVENT_NAMES[before]} and {EVENT_NAMES[after]}"


class _Named(set[str]):
    """Phases that libraries name themselves; gaps of these names are forgotten."""

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__()
        self._changed = changed

    def add(self, name: str) -> None:
        if name not in self:
            super().add(name)
            self._changed()


class Flow:
    """The order of events of one training loop, with the names of its gaps."""

    def __init__(self, profiler: Profiler) -> None:
        self._profiler = profiler
        profiler.categories.setdefault("learn.target", "Model")
        self.core = core = profiler.core
        self.native: Foreign = native_parts(core)
        #: The order itself, for tables that know events.
        self.order: EventOrder = NoEvents()
        if self.native is not None:
            main = threading.main_thread().ident
            self.order = self.native.EventOrder(core, main, self._regions, self._identify)
        self.happened = self.order.happened
        self.stepped = self.order.stepped
        self.prepared = self.order.prepared
        self.purpose = self.order.purpose
        self.collected = self.order.collected
        #: Where the event happened that began a gap, and the lines of gaps without a phase.
        self._begin: dict[tuple[int, int], code_between.Position] = {}
        self._lines: dict[str, list[str]] = {}
        #: Gap -> the phase that it was given, and lines of loops whose names show nothing of it.
        self._silent: dict[str, list[str]] = {}
        self._lost = 0
        #: Phases that a library names itself, seen in use: these are not inferred.
        self.named = _Named(self._forget)
        #: (acts, learning passes) whose results were not shown since this was last asked.
        self.skipped: Callable[[], tuple[int, int]] = lambda: (0, 0)
        #: Restores torch's `Module.__call__`.
        self.give_networks_back: Callable[[], None] = lambda: None

    @property
    def thread(self) -> int:
        """The thread whose events these are."""
        return int(self.order.thread)

    @property
    def envs(self) -> int:
        """Environments that step together; 0 until one has stepped."""
        return int(self.order.envs)

    def notes(self) -> dict[str, object]:
        """The lines of gaps that nothing identifies, or that samples may take their name from."""
        silent = {gap: row for gap, row in self._silent.items() if row[0] not in self.named}
        notes = {Notes.gap_lines: self._lines, Notes.silent_loops: silent}
        return {key: dict(lines) for key, lines in notes.items() if lines}

    def _regions(self, event: int, circumstances: int) -> list[Region | None]:
        """The regions of the gap after an event, by the event that ends it."""
        if self.order.is_table:
            agent = self.core.region("agent")
            return [agent if after in (STEP, ADD) else None for after in range(EVENTS)]
        self._begin[event, circumstances] = code_between.position()
        return [self.core.region(between(event, after)) for after in range(EVENTS)]

    def _identify(self, before: int, after: int, circumstances: int) -> Region | None:
        """The region of a gap that has just ended for the first time, by the code in it.

        None if the code cannot be found: the gap began in another thread, say.
        """
        begin = self._begin.get((before, circumstances), code_between.Position())
        code = code_between.ranges_between(begin, code_between.position())
        name = DEDUCED.get((before, after))
        deduced = name is not None
        name = name or self._shown(before, after, code)
        if name is None and not code and self._lost < MOST_LOST:
            self._lost += 1
            return None
        if name is None or name in self.named:
            name = between(before, after)
            self._lines.setdefault(name, code_between.lines_of(code)[:MOST_RANGES])
            self._profiler.categories.setdefault(name, UNIDENTIFIED)
        elif name not in TIMED_BY_HOOKS:
            self._profiler.mark(name, "inferred")
            self._note_loops(between(before, after), name, [] if deduced else code)
        return self.core.region(name)

    def _shown(self, before: int, after: int, code: list[code_between.CodeRange]) -> str | None:
        """The first candidate that the names in the code show."""
        names = code_between.names_between(code)
        for phase in CANDIDATES.get((before, after), ()):
            if code_between.EVIDENCE[phase](names):
                # Without an environment there is no replay buffer: batches come from a dataset.
                return "data" if phase == "buffer.sample" and not self.envs else phase
        return None

    def _note_loops(self, gap: str, phase: str, code: list[code_between.CodeRange]) -> None:
        lines = code_between.silent_loops(code, phase)
        self._silent[gap] = [phase, *lines]
        if lines:
            self._lines.setdefault(gap, code_between.lines_of(code)[:MOST_RANGES])

    def _forget(self) -> None:
        """Called when libraries name other phases than before."""
        for name in list(self.named):
            self._profiler.recognised.pop(name, None)
        self.order.loss_is_named = "learn.loss" in self.named
        self.order.forget_names()
