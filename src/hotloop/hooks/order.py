"""The order in which the parts of a training loop happen, and what lies between two of them.

From one event to the next a *gap* is open in the core, under the name that is foretold; once the
next event is known, the gap's time goes where it belongs. The native core has the same as `Order`
(`measure/native/order.c`), with fewer words; `order_of` takes that where it is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from hotloop.measure.core import native_parts

#: What can happen, in the order of a training loop. PREPARE is what is done to gradients beside the
#: optimizer's step: they are set to zero, or clipped.
STEP, ADD, SAMPLE, ACT, FORWARD, BACKWARD, OPTIMIZER, PREPARE = range(8)
KINDS = 8

#: The circumstances of a gap: whether the update has called a network with gradients before it,
#: or, whatever it has done, its batches come from a replay buffer.
NO_GRADIENTS, GRADIENTS, OFF_POLICY = range(3)
CIRCUMSTANCES = 3

#: How often a forecast must fail before it is changed: the last step of a rollout must not spoil
#: what is known of all the others.
STUBBORNNESS = 2

#: So many steps of another thread, and no event of the one that was listened to: it trains now.
STRANGE_STEPS = 64

get_ident = threading.get_ident


class Forecast:
    """What came last time, with some patience for exceptions."""

    __slots__ = ("answer", "trust")

    def __init__(self, answer: int) -> None:
        self.answer = answer
        self.trust = 0

    @property
    def is_sure(self) -> bool:
        """Whether it came so often that one exception would change nothing."""
        return self.trust == STUBBORNNESS

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


class Order:
    """The events of one thread, as they come.

    `library` are the regions inside which the program's own order rests, `find` gives the regions
    of the gap after an event, `mark` is told a name that was inferred, and `judge` what the network
    calls that are `waiting` to be told were for.
    """

    def __init__(
        self,
        core: Any,
        learn: Any,
        loss: Any,
        library: tuple[Any, ...],
        find: Callable[[int, int], list[Any]],
        mark: Callable[[str], object],
        judge: Callable[[int], object],
    ) -> None:
        self._core = core
        self._learn = learn.name
        self._loss = loss
        self._library = tuple(region.name for region in library)
        self._find_regions, self._mark, self._judge = find, mark, judge
        #: The thread whose events these are, and the main one.
        self.thread = self.home = 0
        self._strange = 0
        #: Environments that step together; 0 until one has stepped.
        self.envs = 0
        #: Steps (updates) since the last update (step), and in the round before.
        self.steps = self.steps_before = 0
        self._updates = self._updates_before = 0
        #: Nothing is inferred until a network was called or a gradient taken.
        self.active = False
        #: Whether batches are larger than what was collected for them: a replay buffer.
        self.off_policy = False
        #: Whether this update has called a network with gradients.
        self.gradients = False
        self.waiting = False
        #: Rows that a table knows of the next gradient step.
        self.told = 0
        self.loss_is_named = False
        self.last = self._where = 0
        self._in_loss = self._loss_marked = False
        #: By event, circumstances, and whether the rollout (the update) was as long as the one
        #: before it: that tells its last step from the others.
        self._moments: list[Moment | None] = []
        self._moment: Moment | None = None
        self._moment_thread = 0
        self.forget()

    def forget(self) -> None:
        """Forget the names of gaps: libraries name other phases than they did before."""
        self._moments = [None] * (KINDS * CIRCUMSTANCES * 2)
        self._moment = None

    def stepped(self, envs: int) -> None:
        """So many environments were stepped once, together."""
        if not self._is_own(STEP):
            return
        self.envs = envs
        self.steps += 1
        if not self.active:
            self.last = STEP
            return
        if self._updates:
            self._core.count("learn_events", 1)
            self._updates_before, self._updates = self._updates, 0
            self.gradients = False
        if self.waiting:
            self._judge(ACT)
        self.happened(STEP)

    def _is_own(self, kind: int) -> bool:
        """Whether the training loop runs in this thread.

        It runs in the main one, or while nothing of a training happens there (a look at what a
        network says is none) in another that steps environments.
        """
        thread = get_ident()
        if thread == self.thread:
            self._strange = 0
            return True
        if thread == self.home:
            if kind not in (STEP, BACKWARD, OPTIMIZER):
                return False
        else:
            self._strange += kind == STEP
            if kind != STEP or self._strange <= STRANGE_STEPS:
                return False
        self.thread = thread
        self._strange = 0
        self.envs = self.steps = self.steps_before = self._updates = self._updates_before = 0
        self.active = self.gradients = self.waiting = self.off_policy = False
        self.last = STEP
        self._moment = None
        return True

    def happened(self, kind: int) -> None:
        """Something is over; what follows is a gap until something else happens."""
        inside = self._core.innermost()
        if inside == self._learn:
            self.happened_in_learn(kind)
            return
        if not self._is_own(kind):
            return
        if self._moment_thread != self.thread:
            self._moment = None  # told while another thread was called back
        if inside is not None and self._core.is_open(*self._library):
            self._moment = None
            # An update that is one region is one all the same.
            self._updates += kind == OPTIMIZER
            return
        self.active = True
        where = OFF_POLICY if self.off_policy else int(self.gradients)
        self._close_gap(kind, where)
        as_long = False
        if kind <= ACT:
            as_long = self.steps == self.steps_before
        elif kind == OPTIMIZER:
            self._updates += 1
            as_long = self._updates == self._updates_before
        elif kind == BACKWARD:
            if self.steps:
                self.steps_before, self.steps = self.steps, 0
            if self.waiting:
                self._judge(FORWARD)
        self.last = kind
        self._where = where
        self._moment = moment = self._find(kind, where, as_long)
        self._moment_thread = get_ident()
        if moment.gap is not None:
            moment.gap()

    def prepared(self, *_: Any, **__: Any) -> None:
        """Gradients were set to zero or clipped: a note after such a function."""
        # In a library's update it says nothing that the backward pass does not.
        if self._core.innermost() != self._learn:
            self.happened(PREPARE)

    def _close_gap(self, kind: int, where: int) -> None:
        """The gap that was open until this event goes where it belongs."""
        moment = self._moment
        if moment is None:
            return
        region = None
        if moment.gap is not None:
            region = moment.regions[kind]
            if where == OFF_POLICY != self._where:
                # Found out by the very call that ended the gap.
                region = self._find(self.last, where, False).regions[kind]
            if region is not None:
                self._core.claim_gap(region)
        if moment.answer != kind or moment.trust != STUBBORNNESS:
            moment.learn(kind)
            if region is not None:
                self._mark(region.name)

    def happened_in_learn(self, kind: int) -> None:
        """In a library's `learn`, whose table names the rest better: only the loss is inferred."""
        if self._in_loss:
            self._in_loss = False
            self._core.claim_gap(self._loss)
        if kind == FORWARD and not self.loss_is_named:
            self._in_loss = True
            if not self._loss_marked:
                self._loss_marked = True
                self._mark(self._loss.name)
            self._loss.gap()

    def _find(self, kind: int, where: int, as_long: bool) -> Moment:
        place = (kind * CIRCUMSTANCES + where) * 2 + as_long
        moment = self._moments[place]
        if moment is None:
            self._moments[place] = moment = Moment(kind, self._find_regions(kind, where))
        return moment


def order_of(core: Any) -> Any:
    """The kind of Order that fits a core."""
    native = native_parts(core)
    return Order if native is None else native.Order
