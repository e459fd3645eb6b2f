"""What is noted of learning: rows and gradient steps that the optimizers have seen, and the order.

Rows: between two backward passes a network sees its batch once, however often it is called, and
several networks see the same batch; a backward pass that is not followed by a step adds to the next
(accumulation). A gradient step is one round of the program's optimizers: one that steps again
begins the next round, so that an actor, a critic and a temperature which step in turn are one
gradient step.

The native core has the same as `Learning` (`measure/native/learning.c`), with fewer words; `batch`
is that where it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hotloop import get_profiler, words
from hotloop.hooks.env_facts import buffers, remembered
from hotloop.hooks.plain_loop import BACKWARD, FORWARD, OPTIMIZER, flow
from hotloop.measure.core import native_parts

#: Networks and optimizers that are told apart: more than anybody trains at one time.
MOST_NETWORKS = 64
#: One loss, and the buffer of one batch, in so many is looked at. Primes: of several losses or
#: buffers that come in turn, each has its turn.
SHOWN_LOSSES, SHOWN_SAMPLES = 31, 61

#: Told of each outermost answer of a network, and of one loss in so many: (what it was for, the
#: tensor).
watch: list[Callable[[int, Any], None]] = []


class Batch:
    """The rows of the batches since the last gradient step, and the notes that count them."""

    def __init__(
        self,
        order: Any,
        show_loss: Callable[[Any], object],
        show_buffer: Callable[[Any], object],
        count: Callable[[str, int], object],
    ) -> None:
        self._order = order
        self._show_loss, self._show_buffer = show_loss, show_buffer
        self._count = count
        self.forget()

    def forget(self) -> None:
        """What was seen so far is not part of what comes."""
        self._now: dict[int, int] = {}
        self._sum: dict[int, int] = {}
        self._round: set[int] = set()
        self._losses = self._batches = 0
        self.told = 0

    @property
    def told(self) -> int:
        """Rows that a table knows better, for the next gradient step."""
        return int(self._order.told)

    @told.setter
    def told(self, rows: int) -> None:
        self._order.told = rows

    # -- what hooks tell --

    def forward(self, network: int, rows: int) -> None:
        """A network, by its number, was called with gradients on so many rows."""
        if network in self._now or len(self._now) < MOST_NETWORKS:
            self._now[network] = max(rows, self._now.get(network, 0))

    def backward(self) -> None:
        """A backward pass is over."""
        for network, rows in self._now.items():
            if network in self._sum or len(self._sum) < MOST_NETWORKS:
                self._sum[network] = self._sum.get(network, 0) + rows
        self._now.clear()

    def optimizer(self, optimizer: int) -> None:
        """An optimizer, by its number, has stepped."""
        rows = self._rows()
        self.told = 0
        self._sum.clear()
        if optimizer in self._round or len(self._round) == MOST_NETWORKS:
            self._round.clear()
        if not self._round:
            self._count("gradient_steps", 1)
            if rows:
                self._count("samples", rows)
        self._round.add(optimizer)

    def _rows(self) -> int:
        if self.told:
            return self.told
        self.backward()
        order = self._order
        collected = int((order.steps or order.steps_before) * order.envs)
        return max(self._sum.values(), default=0) or collected

    # -- notes after functions --

    def after_backward(self, result: Any, loss: Any = None, *_: Any, **__: Any) -> None:
        """A backward pass is over."""
        self.backward()
        self._order.happened(BACKWARD)
        if self._losses == 0:
            self._show_loss(loss)
        self._losses = (self._losses + 1) % SHOWN_LOSSES

    def after_step(self, result: Any, optimizer: Any, *_: Any, **__: Any) -> None:
        """An optimizer has stepped."""
        self.optimizer(id(optimizer))
        self._order.happened(OPTIMIZER)

    def after_forward(self, *_: Any, **__: Any) -> None:
        """A library's learning pass is over; what follows is the loss."""
        self._order.happened_in_learn(FORWARD)

    def after_rollout(self, *_: Any, **__: Any) -> None:
        """A library has collected what it learns from next."""
        self._count(words.ITERATIONS, 1)

    def after_sample(self, result: Any, buffer: Any, batch_size: int, *_: Any, **__: Any) -> None:
        """A batch of so many rows was drawn from a replay buffer."""
        self.told = batch_size
        if self._batches == 0:
            self._show_buffer(buffer)
        self._batches = (self._batches + 1) % SHOWN_SAMPLES

    def after_minibatch(
        self, result: Any, buffer: Any, batch_inds: Any, *_: Any, **__: Any
    ) -> None:
        """A minibatch of the rows with these numbers was taken from a rollout."""
        # A recurrent policy's minibatch is padded: only the numbers say how many rows it has.
        self.told = len(batch_inds)


def _show_loss(loss: Any) -> None:
    for saw in watch:
        saw(BACKWARD, loss)


def _show_buffer(buffer: Any) -> None:
    get_profiler().gauges["buffer_length"] = buffer.size()
    buffers.used(buffer)


def _batch() -> Any:
    """The kind that fits the core."""
    core = get_profiler().core
    native = native_parts(core)
    if native is None:
        return Batch(flow.order, _show_loss, _show_buffer, core.count)
    return native.Learning(flow.order, _show_loss, _show_buffer)


batch = _batch()
remembered.append(batch)
