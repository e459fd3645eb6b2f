"""What a program does between the calls that hooks can see: told from what surrounds it.

Single-file programs write their advantage, their loss and their storage inline, at module level, so
there is nothing to put a region around. But the order of what *is* seen (environment steps, network
calls, backward passes, optimizer steps) says what lies between two of them: from a network's
learning call to the backward pass it is the loss, from the last step of a rollout to the first
learning call it is the advantage. The same order tells a network call that chooses an action from
one that learns, which `torch.is_grad_enabled` alone does not.

A table tells the flow what `happened` once it is over (`stepped` for environments). From one event
to the next the flow leaves a *gap* open in the core, under the name that it foretells so that
samples find it; once the next event is known the gap's time goes where it belongs, and if none ever
comes it goes nowhere. Inside a library's own `collect` or `learn`, whose tables name the rest, only
the loss is inferred.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

from hotloop import Profiler, get_profiler
from hotloop.hooks.order import (
    ACT,
    ADD,
    BACKWARD,
    FORWARD,
    KINDS,
    NO_GRADIENTS,
    OFF_POLICY,
    OPTIMIZER,
    PREPARE,
    SAMPLE,
    STEP,
    Forecast,
    order_of,
)
from hotloop.measure.core import native_parts

__all__ = [
    "ACT",
    "ADD",
    "BACKWARD",
    "FORWARD",
    "OPTIMIZER",
    "PREPARE",
    "SAMPLE",
    "STEP",
    "Flow",
    "flow",
    "has_gradients",
]

#: The way from collecting to learning: a batch is taken from a replay buffer, or what was
#: collected is made into advantages (see `Flow.off_policy`).
TO_LEARNING = "buffer.sample or advantage"
#: What follows an update: target networks are moved in off-policy programs. On-policy ones have
#: nothing to do there that has a name.
FROM_LEARNING = "learn.target or nothing"

#: A gap's phase, by what was before it and what is after it.
GAPS: dict[tuple[int, int], str] = {
    # What the environment answered is stored.
    (STEP, STEP): "buffer.add",
    (STEP, ADD): "buffer.add",
    (STEP, ACT): "buffer.add",
    # It is taken apart and stored piece by piece.
    (ADD, ADD): "buffer.add",
    # The observation is brought to the network, or an action is chosen without one.
    (ADD, ACT): "policy.act",
    (ADD, STEP): "policy.act",
    # An action is sampled from what the network said and brought to the environment.
    (ACT, ACT): "policy.act",
    (ACT, STEP): "policy.act",
    (ACT, ADD): "policy.act",
    # From the rollout to the update.
    (STEP, SAMPLE): TO_LEARNING,
    (STEP, FORWARD): TO_LEARNING,
    (ADD, SAMPLE): TO_LEARNING,
    (ADD, FORWARD): TO_LEARNING,
    (ADD, BACKWARD): TO_LEARNING,
    (ADD, PREPARE): TO_LEARNING,
    (STEP, BACKWARD): TO_LEARNING,
    (STEP, PREPARE): TO_LEARNING,
    (ACT, FORWARD): TO_LEARNING,
    (ACT, BACKWARD): TO_LEARNING,
    (ACT, PREPARE): TO_LEARNING,
    # A batch is picked and brought into shape.
    (SAMPLE, SAMPLE): "buffer.sample",
    (SAMPLE, FORWARD): "buffer.sample",
    (SAMPLE, BACKWARD): "buffer.sample",
    (SAMPLE, PREPARE): "buffer.sample",
    (OPTIMIZER, FORWARD): "buffer.sample",
    (OPTIMIZER, PREPARE): "buffer.sample",
    (PREPARE, SAMPLE): "buffer.sample",
    (PREPARE, FORWARD): "buffer.sample",
    # Everything between a network's answer and the gradient of something made from it.
    (FORWARD, FORWARD): "learn.loss",
    (FORWARD, BACKWARD): "learn.loss",
    (FORWARD, PREPARE): "learn.loss",
    (PREPARE, BACKWARD): "learn.loss",
    (BACKWARD, FORWARD): "learn.loss",
    (BACKWARD, BACKWARD): "learn.loss",
    (OPTIMIZER, BACKWARD): "learn.loss",
    # Gradients are changed by hand, several optimizers take their turns.
    (BACKWARD, OPTIMIZER): "learn.optimizer",
    (BACKWARD, PREPARE): "learn.optimizer",
    (PREPARE, PREPARE): "learn.optimizer",
    (PREPARE, OPTIMIZER): "learn.optimizer",
    (OPTIMIZER, OPTIMIZER): "learn.optimizer",
    (OPTIMIZER, SAMPLE): FROM_LEARNING,
    (OPTIMIZER, STEP): FROM_LEARNING,
    (OPTIMIZER, ACT): FROM_LEARNING,
    (OPTIMIZER, ADD): FROM_LEARNING,
}

#: Network calls that wait to be told what they were for, and calls that are remembered: more than
#: a training loop makes, so that a program of another kind does not grow these for ever.
MAX_WAITING = 256
MAX_CALLS = 4096


#: Libraries with gradients: where one is used, the order of events tells more.
GRADIENT_LIBRARIES = ("torch", "tensorflow", "keras", "jax")

#: Inside one of these a library, an environment or a buffer is at work: the flow of the program
#: rests.
LIBRARY_PHASES = ("collect", "learn", "evaluate", "env.step", "env.reset", "buffer.add")

get_ident = threading.get_ident


def has_gradients() -> bool:
    """Whether a library with gradients is in use."""
    return any(name in sys.modules for name in GRADIENT_LIBRARIES)


def gap_name(before: int, after: int, where: int) -> str | None:
    """What is between two events; None if that has no name."""
    name = GAPS.get((before, after))
    if name is TO_LEARNING:
        return "buffer.sample" if where == OFF_POLICY else "advantage"
    if name is FROM_LEARNING:
        return "learn.target" if where == OFF_POLICY else None
    if before == FORWARD and where == NO_GRADIENTS:
        # Values of a rollout, asked for before anything was learned from it.
        return "advantage"
    return name


class _Named(set[str]):
    """Phases that libraries name themselves; the flow forgets its own names for them."""

    def __init__(self, changed: Any) -> None:
        super().__init__()
        self._changed = changed

    def add(self, name: str) -> None:
        if name not in self:
            super().add(name)
            self._changed()


class Flow:
    """The order of events of one training loop, in the thread that runs it, with its names."""

    def __init__(self, profiler: Profiler | None = None) -> None:
        self._profiler = profiler = profiler or get_profiler()
        profiler.categories.setdefault("learn.target", "Model")
        self._core = core = profiler.core
        self._native = native_parts(core)
        self._is_open = core.is_open
        #: The order itself, for tables that tell it what they know.
        self.order = order = order_of(core)(
            core,
            core.region("learn"),
            core.region("learn.loss"),
            tuple(core.region(name) for name in LIBRARY_PHASES),
            self._regions,
            self._inferred,
            self._judge_calls,
        )
        order.thread = order.home = threading.main_thread().ident
        self.happened = order.happened
        self.happened_in_learn = order.happened_in_learn
        self.stepped = order.stepped
        self.prepared = order.prepared
        #: Phases that a library names itself, seen in use: these are not inferred.
        self.named = _Named(self._forget)
        #: A program without networks that learns inline (`hooks.tables`).
        self.is_table = False
        #: What network calls were for, by (module, gradients, rows, the event before).
        self._calls: dict[tuple[int, bool, int, int], Forecast] = {}
        self._waiting: list[tuple[tuple[int, bool, int, int], Forecast]] = []
        self._purposes: dict[tuple[int, bool, int], int] = {}
        self._actors: set[int] = set()
        #: Those calls that are known to learn.
        self._learners: set[tuple[int, bool, int, int]] = set()
        #: (acts, learning passes) that went around the hook since this was last asked.
        self.skipped: Callable[[], tuple[int, int]] = lambda: (0, 0)
        #: Let torch's `Module.__call__` be as it was.
        self.give_networks_back: Callable[[], None] = lambda: None

    @property
    def thread(self) -> int:
        """The thread whose events these are."""
        return int(self.order.thread)

    @property
    def envs(self) -> int:
        """Environments that step together; 0 until one has stepped."""
        return int(self.order.envs)

    @property
    def off_policy(self) -> bool:
        """Whether batches are larger than what was collected for them: a replay buffer."""
        return bool(self.order.off_policy)

    @property
    def actors(self) -> int:
        """Networks that were seen to choose actions."""
        return len(self._actors)

    def collected(self) -> int:
        """Environment steps that the update in progress learns from."""
        order = self.order
        return int((order.steps or order.steps_before) * order.envs)

    def take_networks(
        self,
        call: Callable[..., Any],
        whole: tuple[Any, ...],
        plain: dict[type, Any],
        batch: Any,
        gradients: Callable[[], bool],
        hook: Callable[..., Any],
        is_short: bool,
    ) -> bool:
        """Let the native core see to `call`, torch's `Module.__call__`; False if it cannot.

        Most calls of a network are inside another's, or choose an action or learn as the one before
        did. The native core sees to those by itself, and gives the others, and one in so many, to
        the hook (`Networks` in `native/networks.c`).
        """
        if self._native is None or not isinstance(call, FunctionType):
            return False
        regions = map(self._core.region, ("policy.act", "learn.forward", "collect"))
        known = self._actors, self._learners
        networks = self._native.Networks(
            self.order, *regions, whole, plain, *known, batch, gradients, hook
        )
        networks.take(call, is_short)
        self.skipped, self.give_networks_back = networks.skipped, networks.give_back
        return True

    def native_steps(
        self, whole: Callable[..., None], look: Callable[..., None], rewards: int, tells: bool
    ) -> Callable[..., None] | None:
        """The note `whole` of `hooks.steps` in the native core, if there is one."""
        if self._native is None:
            return None
        core, order = self._core, self.order if tells else None
        regions = map(core.region, ("evaluate", "callback", "env.reset"))
        note = self._native.Steps(core, order, *regions, whole, look, rewards)
        return note  # type: ignore[no-any-return]

    # -- names of gaps --

    def learns_inline(self, is_table: bool) -> None:
        """There is a table of values, not a network: nothing is told apart between two steps."""
        self.is_table = is_table
        self.order.active = is_table
        self.order.forget()

    def _regions(self, kind: int, where: int) -> list[Any]:
        """The regions of the gap after an event, by the event that ends it."""
        if self.is_table:
            names = ["agent" if after in (STEP, ADD) else None for after in range(KINDS)]
        else:
            names = [gap_name(kind, after, where) for after in range(KINDS)]
        return [
            None if name is None or name in self.named else self._core.region(name)
            for name in names
        ]

    def _inferred(self, name: str) -> None:
        self._profiler.mark(name, "inferred")

    def _forget(self) -> None:
        """Libraries name other phases than they did before."""
        for name in list(self.named):
            self._profiler.recognised.pop(name, None)
        self.order.loss_is_named = "learn.loss" in self.named
        self.order.forget()

    # -- what a network was called for --

    def purpose(self, module: int, gradients: bool, rows: int, inside: str | None = "") -> int:
        """ACT or FORWARD: is this call to choose an action or to learn from it?

        Inside a library's `learn` it learns and inside its `collect` it acts. In a plain loop the
        same call was made before and was followed by an environment step (it acted) or by a
        backward pass (it learned): it is for the same again. A call that was never made before
        acts if it sees one row for each environment outside an update. Without gradients, a
        network that has acted also acts at the end of a rollout, where it is asked for the value
        of the last observation. Before any environment has stepped only gradients can tell.
        `inside` is the innermost phase: None says that no library can be around.
        """
        if self.is_table:
            self.learns_inline(False)
        if inside is not None:
            if self._is_open("learn"):
                return FORWARD
            if self._is_open("collect", "evaluate"):
                return ACT
        order = self.order
        envs = order.envs
        if not envs or get_ident() != order.thread:
            return FORWARD if gradients else ACT
        order.active = True
        last = order.last
        acting = rows == envs and last <= ACT and last != SAMPLE
        if acting and not gradients and module in self._actors:
            return ACT
        key = (module, gradients, rows, last)
        forecast = self._calls.get(key)
        if forecast is None:
            if len(self._calls) >= MAX_CALLS:
                self._calls.clear()
                self._purposes.clear()
                self._actors.clear()
                self._learners.clear()
            # The same call after another event is the best guess.
            before = self._purposes.get((module, gradients, rows))
            if before is None:
                before = ACT if acting else FORWARD
            self._calls[key] = forecast = Forecast(before)
        if len(self._waiting) < MAX_WAITING:
            self._waiting.append((key, forecast))
            order.waiting = True
        if forecast.answer == FORWARD:
            order.gradients = order.gradients or gradients
            if order.steps:
                order.off_policy = rows > order.steps * envs
        return forecast.answer

    def _judge_calls(self, purpose: int) -> None:
        for key, forecast in self._waiting:
            module, gradients, rows, _ = key
            forecast.learn(purpose)
            if forecast.answer == FORWARD and forecast.is_sure:
                self._learners.add(key)
            else:
                self._learners.discard(key)
            self._purposes[module, gradients, rows] = purpose
            if purpose == ACT:
                self._actors.add(module)
        self._waiting.clear()
        self.order.waiting = False


#: The flow of this process.
flow = Flow()
