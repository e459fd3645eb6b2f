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

import threading
from typing import Any

from hotloop import Profiler, get_profiler

#: What can happen, in the order of a training loop. PREPARE is what is done to gradients beside the
#: optimizer's step: they are set to zero, or clipped.
STEP, ADD, SAMPLE, ACT, FORWARD, BACKWARD, OPTIMIZER, PREPARE = range(8)
KINDS = 8

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

#: How often a forecast must fail before it is changed: the last step of a rollout must not spoil
#: what is known of all the others.
STUBBORNNESS = 2

#: Network calls that wait to be told what they were for, and calls that are remembered: more than
#: a training loop makes, so that a program of another kind does not grow these for ever.
MAX_WAITING = 256
MAX_CALLS = 4096


#: The circumstances of a gap: whether the update has called a network with gradients before it,
#: or, whatever it has done, its batches come from a replay buffer.
NO_GRADIENTS, GRADIENTS, OFF_POLICY = range(3)

#: Inside one of these a library (or an environment) is at work, and the flow of the program rests.
LIBRARY_PHASES = ("collect", "learn", "evaluate", "env.step", "env.reset")

get_ident = threading.get_ident


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


class Forecast:
    """What came last time, with some patience for exceptions."""

    __slots__ = ("answer", "trust")

    def __init__(self, answer: int) -> None:
        self.answer = answer
        self.trust = 0

    def learn(self, answer: int) -> None:
        if answer == self.answer:
            if self.trust < STUBBORNNESS:
                self.trust += 1
        elif self.trust:
            self.trust -= 1
        else:
            self.answer = answer


class Moment(Forecast):
    """What follows an event in given circumstances: the names of the gap by the next event."""

    __slots__ = ("gap", "regions")

    def __init__(self, kind: int, regions: list[Any]) -> None:
        super().__init__(STEP if kind == ADD else kind)
        #: Region by the event that ends the gap; None where nobody can tell.
        self.regions = regions
        #: Opens the gap under the name that is expected, or under any: until it is claimed that
        #: is only what samples see.
        self.gap: Any = next((region.gap for region in regions if region is not None), None)
        self.learn(self.answer)

    def learn(self, answer: int) -> None:
        super().learn(answer)
        region = self.regions[self.answer]
        if region is not None:
            self.gap = region.gap


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
    """The order of events of one training loop, in the thread that runs it."""

    def __init__(self, profiler: Profiler | None = None) -> None:
        self._profiler = profiler = profiler or get_profiler()
        self._mark = profiler.mark
        profiler.categories.setdefault("learn.target", "Model")
        self._core = core = profiler.core
        self._is_open = core.is_open
        self._innermost = core.innermost
        self._claim = core.claim_gap
        self.close = core.end_gap
        self.thread = threading.main_thread().ident
        #: Environments that step together; 0 until one has stepped.
        self.envs = 0
        #: Whether batches are larger than what was collected for them: a replay buffer.
        self.off_policy = False
        #: Phases that a library names itself, seen in use: these are not inferred.
        self.named = _Named(self._forget)
        #: Nothing is inferred until a network was called or a gradient taken.
        self._active = False
        self._last = self._where = 0
        self._loss = core.region("learn.loss")
        self._loss_gap = self._first_loss_gap
        self._in_loss = self.loss_is_named = False
        #: By event, circumstances, and whether the rollout (the update) was as long as the one
        #: before it: that tells its last step from the others.
        self._moments: list[Moment | None] = []
        self._moment: Moment | None = None
        self._forget()
        self._steps = self._steps_before = 0
        self._updates = self._updates_before = 0
        #: Whether this update has called a network with gradients.
        self._gradients = False
        #: What network calls were for, by (module, gradients, rows, the event before).
        self._calls: dict[tuple[int, bool, int, int], Forecast] = {}
        self._waiting: list[tuple[tuple[int, bool, int, int], Forecast]] = []
        self._purposes: dict[tuple[int, bool, int], int] = {}
        self._actors: set[int] = set()

    # -- events --

    def stepped(self, envs: int) -> None:
        """So many environments were stepped once, together."""
        if get_ident() != self.thread:
            return
        self.envs = envs
        self._steps += 1
        if not self._active:
            self._last = STEP
            return
        if self._updates:
            self._core.count("learn_events", 1)
            self._updates_before, self._updates = self._updates, 0
            self._gradients = False
        if self._waiting:
            self._judge_calls(ACT)
        self.happened(STEP)

    def happened(self, kind: int) -> None:
        """Something is over; what follows is a gap until something else happens."""
        inside = self._innermost()
        if inside == "learn":
            self.happened_in_learn(kind)
            return
        if get_ident() != self.thread:
            return
        if inside is not None and self._is_open(*LIBRARY_PHASES):
            self._moment = None
            # An update that is one region is one all the same.
            self._updates += kind == OPTIMIZER
            return
        self._active = True
        where = OFF_POLICY if self.off_policy else self._gradients
        moment = self._moment
        if moment is not None:
            region = None
            if moment.gap is not None:
                region = moment.regions[kind]
                if where == OFF_POLICY != self._where:
                    # Found out by the very call that ended the gap.
                    region = self._find(self._last, where, False).regions[kind]
                if region is not None:
                    self._claim(region)
            if moment.answer != kind or moment.trust != STUBBORNNESS:
                moment.learn(kind)
                if region is not None:
                    self._mark(region.name, "inferred")
        as_long = False
        if kind <= ACT:
            as_long = self._steps == self._steps_before
        elif kind == OPTIMIZER:
            self._updates += 1
            as_long = self._updates == self._updates_before
        elif kind == BACKWARD:
            self._learned()
        self._last = kind
        self._where = where
        self._moment = moment = self._moments[kind * 6 + where * 2 + as_long] or self._find(
            kind, where, as_long
        )
        if moment.gap is not None:
            moment.gap()

    def happened_in_learn(self, kind: int) -> None:
        """In a library's `learn`, whose table names the rest better: only the loss is inferred."""
        if self._in_loss:
            self._in_loss = False
            self._claim(self._loss)
        if kind == FORWARD and not self.loss_is_named:
            self._in_loss = True
            self._loss_gap()

    def _first_loss_gap(self) -> None:
        self._mark("learn.loss", "inferred")
        self._loss_gap = self._loss.gap
        self._loss_gap()

    def collected(self) -> int:
        """Environment steps that the update in progress learns from."""
        return (self._steps or self._steps_before) * self.envs

    def _learned(self) -> None:
        if self._steps:
            self._steps_before, self._steps = self._steps, 0
        if self._waiting:
            self._judge_calls(FORWARD)

    # -- names of gaps --

    def _find(self, kind: int, where: int, as_long: bool) -> Moment:
        place = kind * 6 + where * 2 + as_long
        moment = self._moments[place]
        if moment is None:
            names = [gap_name(kind, after, where) for after in range(KINDS)]
            regions = [self._region(name) for name in names]
            self._moments[place] = moment = Moment(kind, regions)
        return moment

    def _region(self, name: str | None) -> Any:
        if name is None or name in self.named:
            return None
        return self._core.region(name)

    def _forget(self) -> None:
        """Libraries name other phases than they did before."""
        for name in self.named:
            self._profiler.recognised.pop(name, None)
        self.loss_is_named = "learn.loss" in self.named
        self._moments = [None for _ in range(KINDS * 6)]
        self._moment = None

    # -- what a network was called for --

    def purpose(self, module: int, gradients: bool, rows: int) -> int:
        """ACT or FORWARD: is this call to choose an action or to learn from it?

        Inside a library's `learn` it learns and inside its `collect` it acts. In a plain loop the
        same call was made before and was followed by an environment step (it acted) or by a
        backward pass (it learned): it is for the same again. A call that was never made before
        acts if it sees one row for each environment outside an update. Without gradients, a
        network that has acted also acts at the end of a rollout, where it is asked for the value
        of the last observation. Before any environment has stepped only gradients can tell.
        """
        if self._is_open("learn"):
            return FORWARD
        if self._is_open("collect", "evaluate"):
            return ACT
        if not self.envs or get_ident() != self.thread:
            return FORWARD if gradients else ACT
        self._active = True
        last = self._last
        acting = rows == self.envs and last <= ACT and last != SAMPLE
        if acting and not gradients and module in self._actors:
            return ACT
        key = (module, gradients, rows, last)
        forecast = self._calls.get(key)
        if forecast is None:
            if len(self._calls) >= MAX_CALLS:
                self._calls.clear()
                self._purposes.clear()
                self._actors.clear()
            # The same call after another event is the best guess.
            before = self._purposes.get((module, gradients, rows))
            if before is None:
                before = ACT if acting else FORWARD
            self._calls[key] = forecast = Forecast(before)
        if len(self._waiting) < MAX_WAITING:
            self._waiting.append((key, forecast))
        if forecast.answer == FORWARD:
            self._gradients = self._gradients or gradients
            if self._steps:
                self.off_policy = rows > self._steps * self.envs
        return forecast.answer

    def _judge_calls(self, purpose: int) -> None:
        for (module, gradients, rows, _), forecast in self._waiting:
            forecast.learn(purpose)
            self._purposes[module, gradients, rows] = purpose
            if purpose == ACT:
                self._actors.add(module)
        self._waiting.clear()


#: The flow of this process.
flow = Flow()
